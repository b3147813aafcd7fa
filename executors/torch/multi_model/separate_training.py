"""Training of one model by itself, with which training by a schedule is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from jettison.instances.profilers.torch_graphs.fused.optimizers import SGD, Hyperparameters
from jettison.torch.graph_steps.program import Loss, LossStep
from jettison.torch.multi_model.model_array import Batch, as_inputs


@dataclass(frozen=True, slots=True)
class SeparateTraining:
    """Result of training one model by itself.

    Attributes
    ----------
    losses
        Loss of each step.
    parameters, gradients
        By name, after the last step.
    """

    losses: tuple[float, ...]
    parameters: dict[str, Tensor]
    gradients: dict[str, Tensor]

    def differences(self, model: nn.Module, losses: Sequence[float]) -> list[str]:
        """Return what of a trained model and its losses differs from this, in any bit.

        One NaN, of a training that diverged, is as another.
        """
        found = [] if _is_same(_numbers(losses), _numbers(self.losses)) else ["losses"]
        for name, parameter in model.named_parameters():
            if not _is_same(parameter.detach(), self.parameters[name]):
                found.append(name)
            if not _is_same(parameter.grad, self.gradients.get(name)):
                found.append(f"gradient of {name}")
        return found


def train_separately(
    model: nn.Module, loss: Loss | None, batches: Sequence[Batch], optimizer: Hyperparameters
) -> SeparateTraining:
    """Train a copy of a model by itself, by autograd and ``torch.optim``.

    Nothing here is shared with what runs schedules, but the kernels are: the model is mapped over a
    stack of one. For PyTorch has other kernels for stacked operands, a product of stacked matrices
    and a sum in place of ``addmm``, say, which may round the last bit otherwise.

    Parameters
    ----------
    model, loss
        The model, which stays as it is, and its loss.
    batches
        A batch for each step, with the further arguments of the loss if it has some.
    optimizer
        Its hyperparameters.
    """
    step = LossStep(model, loss)
    stack = {
        name: item.detach()[None].clone().requires_grad_(item.requires_grad)
        for name, item in step.named_parameters()
    }
    buffers = {name: item[None] for name, item in step.named_buffers()}
    trained = _optimizer([item for item in stack.values() if item.requires_grad], optimizer)

    def one(parameters: dict[str, Tensor], held: dict[str, Tensor], *inputs: Tensor) -> Any:
        return torch.func.functional_call(step, {**parameters, **held}, inputs)

    losses = []
    for batch in batches:
        trained.zero_grad()
        inputs = (item[None] for item in as_inputs(batch))
        with sdpa_kernel(SDPBackend.MATH):
            found = torch.func.vmap(one)(stack, buffers, *inputs).sum()
        found.backward()
        trained.step()
        losses.append(float(found.detach()))
    parameters = {name.removeprefix("model."): item for name, item in stack.items()}
    return SeparateTraining(
        losses=tuple(losses),
        parameters={name: item.detach()[0] for name, item in parameters.items()},
        gradients={
            name: item.grad[0] for name, item in parameters.items() if item.grad is not None
        },
    )


def _numbers(losses: Sequence[float]) -> Tensor:
    return torch.tensor(losses, dtype=torch.float64)


def _is_same(mine: Tensor | None, other: Tensor | None) -> bool:
    if mine is None or other is None:
        return mine is other
    return mine.shape == other.shape and bool(
        (mine.eq(other) | (mine.isnan() & other.isnan())).all()
    )


def _optimizer(parameters: Sequence[Tensor], kind: Hyperparameters) -> torch.optim.Optimizer:
    if isinstance(kind, SGD):
        return torch.optim.SGD(
            parameters,
            lr=float(kind.lr),
            momentum=float(kind.momentum),
            weight_decay=float(kind.weight_decay),
        )
    return torch.optim.Adam(
        parameters,
        lr=float(kind.lr),
        betas=(float(kind.beta1), float(kind.beta2)),
        eps=float(kind.eps),
        weight_decay=float(kind.weight_decay),
    )
