"""Small models whose plans are compared with PyTorch's, and costs that are no noise."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

from jettison.instances.profilers.torch_graphs.operation_reader import (
    is_view,
)


class LlamaLayer(nn.Module):
    """A layer as in Llama: root mean square, rotated queries and keys, gated products."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.Parameter(torch.ones(width))
        self.between = nn.Parameter(torch.ones(width))
        self.projections = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = _normalised(x, self.before)
        batch, length, width = x.shape
        q, k, v = (
            project(h).view(batch, length, self.heads, -1).transpose(1, 2)
            for project in self.projections[:3]
        )
        q, k = _rotated(q), _rotated(k)
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.projections[3](mixed)
        h = _normalised(x, self.between)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """Layers as in Llama, with an embedding and a loss."""

    def __init__(self, layers: int, width: int = 32, heads: int = 4, words: int = 50) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(LlamaLayer(width, heads) for _ in range(layers))
        self.scale = nn.Parameter(torch.ones(width))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        scores = self.head(_normalised(x, self.scale))
        return functional.cross_entropy(scores.flatten(0, 1), tokens.flatten())


class Residual(nn.Module):
    """A residual block with batch normalisations."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.norms = nn.ModuleList(
            nn.BatchNorm2d(width, track_running_stats=False) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        h = functional.relu(self.norms[0](self.first(x)))
        return functional.relu(x + self.norms[1](self.second(h)))


class ResidualBlocks(nn.Module):
    """Residual blocks with a loss."""

    def __init__(self, blocks: int, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.Sequential(*(Residual(width) for _ in range(blocks)))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.stem(x)).mean((2, 3)).square().mean()


class UNet(nn.Module):
    """A U-Net with group normalisations."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        widths = (width, 2 * width, 4 * width)
        self.down = nn.ModuleList(
            _double(before, after) for before, after in zip((3, *widths[:-1]), widths, strict=True)
        )
        self.up = nn.ModuleList(
            _double(below + beside, beside)
            for below, beside in zip(widths[:0:-1], widths[-2::-1], strict=True)
        )
        self.last = nn.Conv2d(width, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        beside = []
        for number, block in enumerate(self.down):
            x = block(x if number == 0 else functional.max_pool2d(x, 2))
            beside.append(x)
        for block, skipped in zip(self.up, beside[-2::-1], strict=True):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2), skipped], 1))
        return self.last(x).square().mean()


def roofline_ns(node: fx.Node) -> int:
    """Return the time of an operator at 50 GFLOP/s and 10 GB/s, and 2 us a call; 0 for views."""
    if node.op != "call_function" or node.target is operator.getitem or is_view(node):
        return 0
    arguments, options = pytree.tree_map(_value, (node.args, node.kwargs))
    made = node.meta["val"]
    results = list(made) if isinstance(made, tuple | list) else [made]
    count: Callable[..., Any] | None = flop_registry.get(
        getattr(node.target, "overloadpacket", node.target)
    )
    out = results[0] if len(results) == 1 else results
    operations = int(count(*arguments, **options, out_val=out)) if count else 0
    tensors = [
        item
        for item in (*pytree.tree_leaves((arguments, options)), *results)
        if isinstance(item, Tensor)
    ]
    moved = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return max(operations // 50, moved // 10) + 2000


def _value(item: Any) -> Any:
    return item.meta["val"] if isinstance(item, fx.Node) else item


def _normalised(x: Tensor, scale: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * scale


def _rotated(x: Tensor) -> Tensor:
    length, width = x.shape[-2:]
    angles = torch.arange(length)[:, None] * 0.1 ** torch.arange(0, width, 2)
    cosines, sines = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))
    left, right = x.chunk(2, -1)
    return x * cosines + torch.cat([-right, left], -1) * sines


def _double(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.GroupNorm(4, after),
        nn.SiLU(),
        nn.Conv2d(after, after, 3, padding=1),
        nn.GroupNorm(4, after),
        nn.SiLU(),
    )
