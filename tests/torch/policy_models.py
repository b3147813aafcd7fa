"""Models, training steps and measurements for the tests of policies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter  # noqa: E402


class Layer(nn.Module):
    """A residual layer of a transformer without its attention."""

    def __init__(self, wide: int, drop: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(wide)
        self.up = nn.Linear(wide, 4 * wide)
        self.down = nn.Linear(4 * wide, wide)
        self.drop = nn.Dropout(drop) if drop else nn.Identity()

    def forward(self, x: Any) -> Any:
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.norm(x)))))


class Attention(nn.Module):
    """A residual layer with the fused kernel of attention."""

    def __init__(self, wide: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(wide, 3 * wide)
        self.out = nn.Linear(wide, wide)

    def forward(self, x: Any) -> Any:
        shape = (*x.shape[:2], self.heads, -1)
        parts = [part.reshape(shape).transpose(1, 2) for part in self.project(x).chunk(3, -1)]
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(x.shape))


def layers(count: int = 4, wide: int = 32, drop: float = 0.0) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(*[Layer(wide, drop) for _ in range(count)])


def batch(rows: int = 64, wide: int = 32) -> Any:
    return torch.linspace(-1, 1, rows * wide).reshape(rows, wide)


def squares(output: Any) -> Any:
    return (output * output).sum()


def gradients(model: Any, step: Callable[[], Any]) -> list[Any]:
    """Run a step from a fixed seed; return the gradients, which are taken off the model."""
    torch.manual_seed(1)
    step().backward()
    found = [parameter.grad for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = None
    return found


def plain(model: Any, x: Any, loss: Callable[[Any], Any] = squares) -> tuple[list[Any], list[Any]]:
    """Return the gradients and buffers of a plain step on a copy of a model."""
    twin = copy.deepcopy(model)
    return gradients(twin, lambda: loss(twin(x))), list(twin.buffers())


def peak_bytes(step: Callable[[], Any]) -> int:
    """Return by how much memory rises at most while a step runs."""
    with CpuMemoryMeter() as meter, meter.window() as window:
        step().backward()
    return int(window.rise_bytes)


def equal(left: list[Any], right: list[Any]) -> bool:
    return all(torch.equal(*pair) for pair in zip(left, right, strict=True))
