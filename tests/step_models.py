"""Small models for graph steps: skips, normalisation, dropout, views, tied weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn
functional = nn.functional


class Bottle(nn.Module):
    """A residual block with normalisation and rectifiers in place."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, wide, 3, padding=1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU(inplace=True),
            nn.Conv2d(wide, wide, 3, padding=1),
            nn.BatchNorm2d(wide),
        )

    def forward(self, x: Any) -> Any:
        return functional.relu_(x + self.body(x))


def resnet() -> tuple[Any, Any, Any]:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        Bottle(4),
        Bottle(4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 5),
    )
    return model, torch.randn(4, 3, 8, 8), torch.randint(5, (4,))


class UNet(nn.Module):
    """Two levels, joined by a skip, with the upsampling of composite functions."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.SiLU(), nn.Dropout2d(0.2))
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.last = nn.Conv2d(16, 5, 3, padding=1)

    def forward(self, x: Any) -> Any:
        high = self.down(x)
        low = self.deep(functional.max_pool2d(high, 2))
        wide = functional.interpolate(low, scale_factor=2, mode="nearest")
        return self.last(torch.cat([high, self.up(low), wide], dim=1))


def unet() -> tuple[Any, Any, Any]:
    return UNet(), torch.randn(2, 3, 8, 8), torch.randint(5, (2, 8, 8))


class Block(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.attention = nn.Linear(wide, 3 * wide)
        self.mix = nn.Sequential(nn.Linear(wide, wide), nn.Dropout(0.1))
        self.feed = nn.Sequential(nn.Linear(wide, 2 * wide), nn.GELU(), nn.Linear(2 * wide, wide))

    def forward(self, x: Any) -> Any:
        parts = self.attention(self.first(x)).chunk(3, dim=-1)
        heads = [part.unflatten(-1, (2, -1)).transpose(1, 2) for part in parts]
        found = functional.scaled_dot_product_attention(*heads, dropout_p=0.1, is_causal=True)
        x = x + self.mix(found.transpose(1, 2).flatten(2))
        return x + functional.dropout(self.feed(self.second(x)), 0.1)


class Transformer(nn.Module):
    """Two blocks, and a head that has the weights of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.blocks = nn.ModuleList([Block(8) for _ in range(2)])
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x).flatten(0, 1)


def transformer() -> tuple[Any, Any, Any]:
    return Transformer(), torch.randint(11, (2, 6)), torch.randint(11, (12,))


class Stateful(nn.Module):
    """Buffers that follow from each other and from activations; results that are not used."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.unused = nn.Linear(6, 6)
        self.norm = nn.BatchNorm1d(6)
        self.register_buffer("volume", torch.ones(()))
        self.register_buffer("before", torch.zeros(()))
        self.register_buffer("bank", torch.zeros(3, 6))
        self.register_buffer("frozen", torch.linspace(0, 1, 6))

    def forward(self, x: Any) -> Any:
        self.before.copy_(self.volume)
        self.volume = self.volume * 2
        values, places = self.norm(self.layer(x)).sort(dim=1)
        torch.rand(3)
        self.bank = torch.cat([self.bank[1:], values.detach().mean(0, keepdim=True)])
        # A second time: statistics are updated twice in a step.
        again = self.norm(values * self.volume + self.frozen + places)
        left, right = again.split(3, dim=1)
        y = torch.cat([left.t().exp().t(), right], dim=1)
        y[:, 0] += self.bank.sum()
        y.mul_(0.5)
        return y - y.logsumexp(1, keepdim=True)


def stateful() -> tuple[Any, Any, Any]:
    return Stateful(), torch.randn(4, 6), torch.randint(6, (4,))


STEP_MODELS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "resnet": resnet,
    "unet": unet,
    "transformer": transformer,
    "stateful": stateful,
}


def build_step(name: str) -> tuple[Any, Any, Any]:
    """Return a model, an input and labels, always the same, in float64 where they are numbers."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model, x, labels = STEP_MODELS[name]()
    return model.double(), x.double() if x.is_floating_point() else x, labels
