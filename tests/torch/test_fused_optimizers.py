"""Optimizer steps of several models at once: each bit is that of torch.optim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter  # noqa: E402
from jettison.instances.profilers.torch_graphs.fused.optimizers import (  # noqa: E402
    SGD,
    Adam,
    Hyperparameters,
    fused_optimizer,
)

pytestmark = pytest.mark.torch

ADAMS = (Adam(0.1), Adam(0.03, beta1=0.5, beta2=0.99), Adam(0.01, eps=1e-3, weight_decay=0.2))
SGDS = (SGD(0.1), SGD(0.03, momentum=0.9), SGD(0.01, momentum=0.5, weight_decay=0.2))


def torch_optimizer(kind: Hyperparameters, parameter: Any) -> Any:
    if isinstance(kind, SGD):
        return torch.optim.SGD(
            [parameter], lr=kind.lr, momentum=kind.momentum, weight_decay=kind.weight_decay
        )
    return torch.optim.Adam(
        [parameter],
        lr=kind.lr,
        betas=(kind.beta1, kind.beta2),
        eps=kind.eps,
        weight_decay=kind.weight_decay,
    )


def coefficients(optimizer: Any, step: int, parameter: Any) -> dict[str, Any]:
    shape = (-1, *(1,) * (parameter.dim() - 1))
    return {
        name: torch.tensor(numbers, dtype=parameter.dtype).view(shape)
        for name, numbers in optimizer.coefficients(step).items()
    }


@pytest.mark.parametrize("kinds", [SGDS, SGDS[:1] * 3, ADAMS, ADAMS[:2] + ADAMS[:1]])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (33, 5), (64, 32)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_step_of_three_models_is_three_steps_of_torch(
    kinds: Sequence[Hyperparameters], shape: tuple[int, ...], dtype: Any
) -> None:
    torch.manual_seed(0)
    optimizer = fused_optimizer(kinds)
    stacked = torch.randn(3, *shape, dtype=dtype)
    alone = [item.clone().requires_grad_() for item in stacked]
    others = [torch_optimizer(*pair) for pair in zip(kinds, alone, strict=True)]
    states = {name: torch.zeros_like(stacked) for name in optimizer.states}
    for step in range(1, 6):
        gradient = torch.randn_like(stacked)
        optimizer.update(stacked, gradient, states, coefficients(optimizer, step, stacked))
        for mine, its, other, part in zip(stacked, alone, others, gradient, strict=True):
            its.grad = part.clone()
            other.step()
            assert torch.equal(mine, its), (step, kinds)


@pytest.mark.parametrize("kinds", [SGDS, SGDS[:2], ADAMS, ADAMS[:2]])
def test_a_step_allocates_as_much_as_it_says(kinds: Sequence[Hyperparameters]) -> None:
    optimizer = fused_optimizer(kinds)
    stacked = torch.randn(len(kinds), 64, 32, dtype=torch.float64)
    gradient = torch.randn_like(stacked)
    states = {name: torch.zeros_like(stacked) for name in optimizer.states}
    numbers = coefficients(optimizer, 1, stacked)
    with CpuMemoryMeter() as meter, meter.window() as window:
        optimizer.update(stacked, gradient, states, numbers)
    assert window.rise_bytes == optimizer.temporaries * stacked.numel() * 8


def test_models_of_a_part_have_the_operators_of_all() -> None:
    alone = fused_optimizer(SGDS[:1])
    as_all = fused_optimizer(SGDS[:1], like=SGDS)
    assert (alone.states, alone.temporaries) == ((), 0)
    assert (as_all.states, as_all.temporaries) == (("momentum",), 1)
