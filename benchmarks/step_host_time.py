"""Processor time that the executors add to a plain step, operation by operation.

    python -m benchmarks.step_host_time --rounds 31

A GPU waits where a processor launches its kernels too slowly. Activations have a few numbers here,
so that what is measured is the launching: of the plain step, of `CheckpointedStep` with nothing
computed again and in less memory, of `CapturedStep` (whose segments are run again on a CPU, as
they were written). All take turns on one thread; times are CPU seconds of the thread, and the
least of all turns counts, since whatever else runs on the machine only adds to them. Calls are
those of Python and C functions that `cProfile` counts in one step; ``--shown`` prints where their
time goes.

*Before* is a run as it was: each instruction looks up what to call, what to free and what to
deliver, and calls operators by their overloads. (Values of buffers are written as now.)
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.instances.profilers.torch_graphs.operator_cost import Roofline
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.solve import solve
from jettison.torch import CapturedStep, CheckpointedStep, trace_step_program
from jettison.torch.actions.step_actions import Action, StepActions
from jettison.torch.checkpointed_step import StepRun
from jettison.torch.graph_steps.instructions import Delivery
from jettison.torch.graph_steps.run import GraphRun, accumulate

SOLVE_S = 10.0


class Bottleneck(nn.Module):
    """Three convolutions with batch normalization, and a way around them."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in (1, 3, 1):
            layers += [nn.Conv2d(2, 2, size, padding=size // 2, bias=False), nn.BatchNorm2d(2)]
            layers.append(nn.ReLU())
        self.path = nn.Sequential(*layers[:-1])

    def forward(self, block_input: Tensor) -> Tensor:
        """Return the rectified sum."""
        return functional.relu(block_input + self.path(block_input))


class Attention(nn.Module):
    """Attention and a gated network, each with a norm and a skip, of four numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(4), nn.LayerNorm(4)
        self.parts, self.mix = nn.Linear(4, 12), nn.Linear(4, 4)
        self.gate, self.up, self.down = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the input with what both parts add to it."""
        q, k, v = (
            part.unflatten(-1, (2, 2)).transpose(1, 2)
            for part in self.parts(self.first(x)).chunk(3, dim=-1)
        )
        found = (q @ k.transpose(-1, -2)).softmax(-1) @ v
        x = x + self.mix(found.transpose(1, 2).flatten(2))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def squares(output: Tensor) -> Tensor:
    """Return a loss."""
    return output.square().mean()


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "residual": (lambda: nn.Sequential(*[Bottleneck() for _ in range(8)]), (1, 2, 2, 2)),
    "attention": (lambda: nn.Sequential(*[Attention() for _ in range(8)]), (1, 2, 4)),
    "pointwise": (lambda: nn.Sequential(*[nn.Tanh(), nn.Sigmoid()] * 40, nn.Linear(1, 1)), (1, 1)),
}
Step = Callable[[], None]


class InterpretedRun(GraphRun):
    """Run that interprets the instructions of a plan; nothing in it draws again."""

    def _run(self, actions: Sequence[Action]) -> None:
        plan, registers = self._plan, self._registers
        is_forward = actions is self._actions.forward
        with AutocastState.current(self._device).switched_off().restored():
            for item in plan.forward if is_forward else plan.backward:
                item.on(registers)
                for register in item.ends:
                    registers[register] = None
                for delivery in item.deliveries:
                    self._deliver(delivery)

    def _deliver(self, delivery: Delivery) -> None:
        registers = self._registers
        for view in delivery.views:
            registers[view.register] = view.call.on(registers)
        gradient = registers[delivery.register]
        if delivery.is_shared:
            gradient = gradient.clone()
        for register in delivery.ends:
            registers[register] = None
        accumulate(self._tensors[delivery.parameter], gradient)


class InterpretedStep(CheckpointedStep):
    """Step as it ran before."""

    def _run_of(self, inputs: Sequence[Tensor]) -> StepRun:
        if self._actions is None:
            self._actions = StepActions(self._plan, self._tensors, accumulate)
        return InterpretedRun(self._plan, self._actions, self._tensors, inputs)


def calls_of(step: Step, shown: int) -> int:
    """Return how many calls of functions a step makes; print where its time goes."""
    profile = cProfile.Profile()
    profile.runcall(step)
    statistics = pstats.Stats(profile)
    if shown:
        statistics.sort_stats("tottime").print_stats(shown)
    return int(statistics.total_calls)  # type: ignore[attr-defined]


def steps_of(name: str, share: str) -> tuple[dict[str, Step], int]:
    """Return the steps of a model, and how many operations its graph has."""
    torch.manual_seed(0)
    build, size = MODELS[name]
    model, batch = build(), torch.randn(size)
    program = trace_step_program(model, batch, loss=squares, cost=Roofline())

    def stepping(run: Callable[[], Tensor]) -> Step:
        def step() -> None:
            model.zero_grad(set_to_none=True)
            run().backward()

        return step

    steps = {"plain": stepping(lambda: squares(model(batch)))}
    for memory in ("100%", share):
        problem = RematGraph(program.graph, memory)
        schedule = solve(problem, time_limit=SOLVE_S).schedule
        if not isinstance(schedule, GraphSchedule):
            print(f"{name}: no schedule in {memory}")
            continue
        kinds: list[tuple[str, type[CheckpointedStep]]] = [
            (f"{memory}, before", InterpretedStep),
            (memory, CheckpointedStep),
        ]
        if memory == "100%":
            kinds.append((f"{memory}, captured", CapturedStep))
        for title, kind in kinds:
            steps[title] = stepping(partial(kind(program, problem, schedule), batch))
    return steps, len(program.graph)


def main() -> None:
    """Print one line for each way to run each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--share", default="80%")
    parser.add_argument("--shown", type=int, default=0, help="lines of the profile to print")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.models or MODELS:
        steps, count = steps_of(name, options.share)
        least = dict.fromkeys(steps, float("inf"))
        for turn in range(options.rounds + 3):
            for title, step in steps.items():
                begin = time.thread_time()
                step()
                spent = time.thread_time() - begin
                # The first steps of a captured run are recorded.
                if turn >= 3:
                    least[title] = min(least[title], spent)
        for title, step in steps.items():
            added_us = (least[title] - least["plain"]) / count * 1e6
            print(
                f"{name:10} {title:15} {least[title] * 1e3:7.3f} ms"
                f" {least[title] / least['plain']:5.2f} of plain, {added_us:5.2f} us added to each"
                f" of {count} operations, {calls_of(step, options.shown):6} calls",
                flush=True,
            )


if __name__ == "__main__":
    main()
