"""Durations of the forward and the backward operation of one stage."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low

import torch
from torch import Tensor

from jettison.instances.profilers.device.timing import duration_ns
from jettison.instances.profilers.torch_chains.stage import ChainStage
from jettison.instances.profilers.torch_chains.stage_gradients import StageGradients

Spread = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class StageTime:
    """Minimum, median and maximum of each duration, in nanoseconds."""

    forward_ns: Spread
    backward_ns: Spread


def measure_time(stage: ChainStage, stage_input: Tensor, *, warmup: int, repeats: int) -> StageTime:
    """Run forward and backward `warmup` + `repeats` times in turn, and time the last `repeats`.

    The forward operation records the graph (it is :math:`F_{all}`); the backward operation starts
    from a random gradient, makes the parameters' gradients or adds to them, and releases what
    autograd saved. A stage that needs no gradient has a backward operation of 0 ns.

    Raises
    ------
    InputError
        If no gradient passes through the stage.
    """
    forward: list[int] = []
    backward: list[int] = []
    device = stage_input.device
    with StageGradients(stage) as gradients:
        for _ in range(warmup + repeats):
            run = _Run(stage, stage_input)
            forward.append(duration_ns(run.forward, device))
            backward.append(duration_ns(run.backward, device) if run.prepare_backward() else 0)
            stage_input.grad = None
            gradients.drop_new()
    return StageTime(_spread(forward[warmup:]), _spread(backward[warmup:]))


class _Run:
    """Run of a stage's forward operation and then of its backward operation."""

    def __init__(self, stage: ChainStage, stage_input: Tensor) -> None:
        self._stage = stage
        self._input = stage_input

    def forward(self) -> None:
        self._output = self._stage.forward(self._input)

    def prepare_backward(self) -> bool:
        """Draw the gradient of the output; return False if the stage has no backward operation."""
        if not self._output.requires_grad:
            return False
        self._gradient = torch.randn_like(self._output)
        return True

    def backward(self) -> None:
        torch.autograd.backward(self._output, self._gradient)


def _spread(durations: list[int]) -> Spread:
    # An actual measurement, also when their number is even.
    return min(durations), median_low(durations), max(durations)
