"""Models for plans under ``torch.compile``, in which activations take more than gradients do."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn
functional = nn.functional


def mlp() -> tuple[Any, Any]:
    layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(6)]
    return nn.Sequential(*layers), torch.randn(256, 8)


class Bottle(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU(inplace=True),
            nn.Conv2d(wide, wide, 1),
            nn.BatchNorm2d(wide),
        )

    def forward(self, x: Any) -> Any:
        return functional.relu_(x + self.body(x))


def resnet() -> tuple[Any, Any]:
    blocks = [Bottle(6) for _ in range(3)]
    return nn.Sequential(nn.Conv2d(3, 6, 1), *blocks), torch.randn(4, 3, 16, 16)


def dropout() -> tuple[Any, Any]:
    layers = [nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Dropout(0.3)) for _ in range(5)]
    return nn.Sequential(*layers), torch.randn(1024, 8)


class LlamaLayer(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(wide), nn.RMSNorm(wide)
        self.attention = nn.Linear(wide, 3 * wide, bias=False)
        self.mix = nn.Linear(wide, wide, bias=False)
        self.gate = nn.Linear(wide, 2 * wide, bias=False)
        self.up = nn.Linear(wide, 2 * wide, bias=False)
        self.down = nn.Linear(2 * wide, wide, bias=False)

    def forward(self, x: Any) -> Any:
        parts = self.attention(self.first(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in parts)
        found = (q @ k.transpose(-1, -2)).softmax(-1) @ v
        x = x + self.mix(found.transpose(1, 2).flatten(2))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Layers as in Llama, whose head has the weights of the embedding; returns its loss."""

    def __init__(self, layers: int = 3, wide: int = 8) -> None:
        super().__init__()
        self.embedding = nn.Embedding(12, wide)
        self.layers = nn.ModuleList([LlamaLayer(wide) for _ in range(layers)])
        self.head = nn.Linear(wide, 12, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return functional.cross_entropy(self.head(x).flatten(0, 1), tokens.flatten())


def llama() -> tuple[Any, Any]:
    return Llama(), torch.randint(12, (4, 24))


class UNet(nn.Module):
    """Two levels, joined by a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 4, 1), nn.GroupNorm(2, 4), nn.SiLU())
        self.deep = nn.Sequential(nn.Conv2d(4, 8, 1), nn.SiLU(), nn.Conv2d(8, 4, 1), nn.SiLU())
        self.last = nn.Sequential(nn.Conv2d(8, 4, 1), nn.SiLU(), nn.Conv2d(4, 2, 1))

    def forward(self, x: Any) -> Any:
        high = self.down(x)
        low = self.deep(functional.max_pool2d(high, 2))
        wide = functional.interpolate(low, scale_factor=2, mode="nearest")
        return self.last(torch.cat([high, wide], dim=1))


def unet() -> tuple[Any, Any]:
    return UNet(), torch.randn(4, 3, 16, 16)


class Stateful(nn.Module):
    """Several outputs, views among them; a buffer and the input change."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(5)])
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x: Any) -> Any:
        y = x.exp()
        x.mul_(0.5)
        for layer in self.layers:
            y = functional.dropout(layer(y).sigmoid() * y, 0.1) + self.mean
        self.mean.mul_(0.9).add_(y.detach().mean(0))
        left, right = y.split(4, dim=1)
        return {"loss": y.square().mean(), "left": left, "right": right.t(), "input": x[0]}


def stateful() -> tuple[Any, Any]:
    return Stateful(), torch.randn(1024, 8)


COMPILED_MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "mlp": mlp,
    "resnet": resnet,
    "dropout": dropout,
    "llama": llama,
    "unet": unet,
    "stateful": stateful,
}


class Drawn(nn.Module):
    """A random network: each layer reads one or two values from before."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        draw = random.Random(seed)
        self.plan = [
            (draw.randrange(6), draw.randrange(at + 1), draw.randrange(at + 1)) for at in range(7)
        ]
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in self.plan])
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x: Any) -> Any:
        values = [x]
        for layer, (kind, one, two) in zip(self.layers, self.plan, strict=True):
            values.append(self._made(kind, layer, values[one], values[two]))
        # All of them: a compiler leaves out draws that nothing needs.
        return values[-1], torch.stack([value.sum(1) for value in values])

    def _made(self, kind: int, layer: Any, one: Any, two: Any) -> Any:
        if kind == 0:
            return layer(one).tanh() * two
        if kind == 1:
            return torch.cat([one[:, :3], two[:, 3:]], dim=1).relu()
        if kind == 2:
            return self.norm(layer(one)) + two
        if kind == 3:
            return functional.dropout(one, 0.2) - layer(two)
        if kind == 4:
            return layer(one).softmax(1).t().contiguous().t() + two
        return one.sort(dim=1)[0] * two.sigmoid()


def build_compiled(name: str) -> tuple[Any, Any]:
    """Return a model and an input, always the same, in float64 where they are numbers."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model, x = COMPILED_MODELS[name]()
    return model.double(), x.double() if x.is_floating_point() else x
