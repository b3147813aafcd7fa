"""Trainings of one model by itself, which those of many models at once are compared with.

They share nothing with what runs schedules: the backward pass is that of autograd, the optimizer
that of ``torch.optim``. *By the same kernels* means that the model is mapped over a batch of one
model: PyTorch has other kernels for stacked operands (a product of stacked matrices and a sum in
place of ``addmm``, say), which may round the last bit otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from jettison.torch.multi_model import SGD, Adam  # noqa: E402


@dataclass
class Alone:
    """What came of one training: a loss for each step, and the last parameters and gradients."""

    losses: list[float]
    parameters: dict[str, Any]
    gradients: dict[str, Any]


def torch_optimizer(kind: Any, parameters: Sequence[Any]) -> Any:
    if isinstance(kind, SGD):
        return torch.optim.SGD(
            parameters, lr=kind.lr, momentum=kind.momentum, weight_decay=kind.weight_decay
        )
    assert isinstance(kind, Adam)
    return torch.optim.Adam(
        parameters,
        lr=kind.lr,
        betas=(kind.beta1, kind.beta2),
        eps=kind.eps,
        weight_decay=kind.weight_decay,
    )


def train_plainly(model: Any, loss: Any, batches: Sequence[Any], kind: Any) -> Alone:
    """Train as everybody does."""
    model = copy.deepcopy(model)
    optimizer = torch_optimizer(kind, list(model.parameters()))
    losses = []
    for batch, *more in batches:
        optimizer.zero_grad()
        found = loss(model(batch), *more)
        found.backward()
        optimizer.step()
        losses.append(float(found.detach()))
    named = dict(model.named_parameters())
    return Alone(losses, named, {name: item.grad for name, item in named.items()})


def train_by_the_same_kernels(model: Any, loss: Any, batches: Sequence[Any], kind: Any) -> Alone:
    """Train a stack of one model."""
    stack = {
        name: item.detach()[None].clone().requires_grad_()
        for name, item in model.named_parameters()
    }
    buffers = {name: item[None] for name, item in model.named_buffers()}
    optimizer = torch_optimizer(kind, list(stack.values()))

    def step(parameters: Any, held: Any, batch: Any, *more: Any) -> Any:
        return loss(torch.func.functional_call(model, {**parameters, **held}, (batch,)), *more)

    losses = []
    for batch in batches:
        optimizer.zero_grad()
        with sdpa_kernel(SDPBackend.MATH):
            found = torch.func.vmap(step)(stack, buffers, *(item[None] for item in batch)).sum()
        found.backward()
        optimizer.step()
        losses.append(float(found.detach()))
    return Alone(
        losses,
        {name: item[0] for name, item in stack.items()},
        {name: item.grad[0] for name, item in stack.items()},
    )


def differences(model: Any, losses: Sequence[float], alone: Alone) -> list[str]:
    """Return what differs in any bit between a trained model and its training by itself."""
    found = [] if list(losses) == alone.losses else [f"losses {losses} and {alone.losses}"]
    for name, parameter in model.named_parameters():
        if not torch.equal(parameter, alone.parameters[name]):
            found.append(name)
        if not torch.equal(parameter.grad, alone.gradients[name]):
            found.append(f"gradient of {name}")
    return found
