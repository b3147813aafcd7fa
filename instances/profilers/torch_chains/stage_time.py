"""Durations of the forward and the backward operation of one stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from jettison.instances.profilers.device.timing import (
    LaunchTimer,
    Spread,
    counted,
    launches_of,
)
from jettison.instances.profilers.torch_chains.stage import ChainStage
from jettison.instances.profilers.torch_chains.stage_gradients import StageGradients

# Graphs that are held at a time.
_MOST_GRAPHS = 16


@dataclass(frozen=True, slots=True)
class StageTime:
    """Least, lower quartile and most of each duration, in nanoseconds."""

    forward_ns: Spread
    backward_ns: Spread


def measure_time(stage: ChainStage, stage_input: Tensor, *, warmup: int, repeats: int) -> StageTime:
    """Run forward and backward `warmup` + `repeats` times in turn, and time the last `repeats`.

    The forward operation records the graph (it is :math:`F_{all}`); the backward operation starts
    from a random gradient, makes the parameters' gradients or adds to them, and releases what
    autograd saved. A stage that needs no gradient has a backward operation of 0 ns. Of a stage of
    microseconds several graphs are recorded in a row for each measurement, then run backward.

    Raises
    ------
    InputError
        If no gradient passes through the stage.
    """
    timer = LaunchTimer(stage_input.device)
    with StageGradients(stage) as gradients:
        rounds = _Rounds(stage, stage_input, gradients, timer)
        for _ in range(warmup):
            rounds.run(1)
        launches = min(_MOST_GRAPHS, launches_of(rounds.run(1)[0]))
        found = [rounds.run(launches) for _ in range(repeats)]
    return StageTime(
        counted([forward_ns for forward_ns, _ in found]),
        counted([backward_ns for _, backward_ns in found]),
    )


class _Rounds:
    """Rounds of forward and backward operations of a stage, with what they leave put away."""

    def __init__(
        self, stage: ChainStage, stage_input: Tensor, gradients: StageGradients, timer: LaunchTimer
    ) -> None:
        self._stage = stage
        self._input = stage_input
        self._gradients = gradients
        self._timer = timer

    def run(self, launches: int) -> tuple[int, int]:
        """Run so many graphs forward, then backward; return the mean durations of both."""
        runs = [_Run(self._stage, self._input) for _ in range(launches)]
        forward_ns = self._timer.total_ns([run.forward for run in runs]) // launches
        has_backward = [run.prepare_backward() for run in runs]
        backward_ns = 0
        if all(has_backward):
            backward_ns = self._timer.total_ns([self._emptied(run) for run in runs]) // launches
        self._forget()
        return forward_ns, backward_ns

    def _emptied(self, run: _Run) -> Callable[[], None]:
        def backward() -> None:
            run.backward()
            self._forget()

        return backward

    def _forget(self) -> None:
        self._input.grad = None
        self._gradients.drop_new()


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
