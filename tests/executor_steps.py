"""Small models for the executor, a unit chain for each, and a training step to compare with."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from jettison.instances.remat_chain.chain import Chain, Stage

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn


class Residual(nn.Module):
    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Any) -> Any:
        return x + self.body(x)


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False)[0]


def mlp() -> tuple[Any, Any]:
    layers = [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(5)]
    return nn.Sequential(*layers), torch.randn(4, 6)


def convolutions() -> tuple[Any, Any]:
    """Batch normalization, dropout, a rectifier in place, and a view as a stage of its own."""

    def block(wide: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(wide, 3, 3, padding=1),
            nn.BatchNorm2d(3),
            nn.ReLU(inplace=True),
            nn.Dropout(0.3),
        )

    model = nn.Sequential(block(2), block(3), nn.Flatten(), nn.Linear(48, 5), nn.Softmax(-1))
    return model, torch.randn(3, 2, 4, 4)


def residual() -> tuple[Any, Any]:
    body = [
        Residual(nn.Sequential(nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 5))) for _ in range(4)
    ]
    return nn.Sequential(nn.Linear(3, 5), *body), torch.randn(6, 3)


def attention() -> tuple[Any, Any]:
    """Token ids, which cannot need a gradient, at the start."""
    blocks = [
        Residual(nn.Sequential(nn.LayerNorm(8), SelfAttention(8, 2), nn.Dropout(0.1)))
        for _ in range(3)
    ]
    return nn.Sequential(nn.Embedding(11, 8), *blocks, nn.Linear(8, 4)), torch.randint(11, (2, 5))


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "mlp": mlp,
    "convolutions": convolutions,
    "residual": residual,
    "attention": attention,
}


def build(name: str) -> tuple[Any, Any]:
    """Return a model and an input in float64, always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model, x = MODELS[name]()
    return model.double(), x.double() if x.is_floating_point() else x


def unit_chain(model: Any) -> Chain:
    """Return a chain of one byte and one nanosecond for everything, the loss of no output."""
    stages = [
        Stage(name=f"s{number}", forward_ns=1, backward_ns=1, output_bytes=1, saved_bytes=2)
        for number in range(len(model))
    ]
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=1)
    return Chain(name="unit", input_bytes=1, stages=(*stages, loss))


def squares(output: Any) -> Any:
    """A loss."""
    return (output * output).sum()


class Step:
    """All that a training step leaves behind: loss, gradients, buffers, generator."""

    def __init__(self, model: Any, parts: Any, x: Any, *, loss: Any = squares) -> None:
        torch.manual_seed(3)
        x = x.detach().clone().requires_grad_(x.requires_grad)
        value = model(x) if loss is None else loss(model(x))
        value.backward()
        self.loss = value.detach()
        self.input_gradient = x.grad
        self.gradients = {name: item.grad for name, item in parts.named_parameters()}
        self.buffers = {name: item.clone() for name, item in parts.named_buffers()}
        self.generator = torch.get_rng_state()

    def assert_equal(self, other: Step) -> None:
        assert same(self.loss, other.loss)
        assert same(self.input_gradient, other.input_gradient)
        assert self.gradients.keys() == other.gradients.keys()
        for name, gradient in self.gradients.items():
            assert same(gradient, other.gradients[name]), name
        for name, buffer in self.buffers.items():
            assert same(buffer, other.buffers[name]), name
        assert same(self.generator, other.generator)


def same(left: Any, right: Any) -> bool:
    """Whether two tensors are equal to the bit, or both are absent."""
    if left is None or right is None:
        return left is right
    return torch.equal(left, right)


def twin(model: Any) -> Any:
    """Return a copy for the plain step."""
    return copy.deepcopy(model)
