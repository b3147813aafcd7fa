"""Time and peak of real training steps beside what the replay predicts, over several memories.

As in Section 6 of RR-9302, whose mean absolute errors on a V100 are 7.8 % for throughput and 3.7 %
for peak memory. Steps by a schedule and plain steps take turns. Their ratio is set beside the
predicted one, in CPU seconds on a CPU: it holds on a machine that does other work as well. The time
itself is predicted from the profile's wall clock and needs a quiet machine.

Gradients of parameters are new in each step, or, with ``--gradients accumulated``, added to those
of the step before. What is compared with the measured peak is that of the replay, with the
gradients that the plan keeps free.

Peaks are those of PyTorch's allocator. ``--device cuda`` measures on a GPU.

The second table is that of graphs: steps of any model, traced operator by operator, whose schedules
are those of `remat-graph`. Gradients of parameters are a part of their peaks.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean, median_low

import torch

from jettison.instances.core.errors import InputError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.device.timing import duration_ns
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.profilers.torch_chains.stage_memory import memory_meter
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import Workload
from jettison.solvers.core.solve import solve
from jettison.torch import (
    CheckpointedSequential,
    CheckpointedStep,
    Prediction,
    checkpoint_sequential_optimal,
    trace_step_program,
)
from jettison.torch.chain_steps.step_chain import step_chain

_TRANSFORMER = {
    "batch": 4,
    "input_size": 64,
    "depth": 6,
    "hidden": 96,
    "heads": 4,
    "vocabulary": 500,
}
MODELS = {
    "resnet18": {"batch": 8, "input_size": 32, "stem": "3x3", "classes": 10},
    "gpt2": _TRANSFORMER,
    "bert": _TRANSFORMER,
}
SHARES = (100, 80, 60, 50, 40)
GRAPHS = {
    "resnet18": {"batch": 16, "input_size": 32, "stem": "3x3", "classes": 10},
    "unet": {"batch": 4, "input_size": 64, "depth": 3, "width": 16},
    "gpt2": _TRANSFORMER,
}
GRAPH_SHARES = (100, 80, 70, 60)


def step_ns(step: Callable[[], None], device: torch.device) -> int:
    """Return the time of one step: of the processor on a CPU, of the device on a GPU."""
    if device.type == "cuda":
        return duration_ns(step, device)
    before_ns = time.process_time_ns()
    step()
    return time.process_time_ns() - before_ns


def rise_bytes(step: Callable[[], None], device: torch.device) -> int:
    """Return the peak of a step above what is allocated before."""
    with memory_meter(device) as meter, meter.window() as window:
        step()
    return window.rise_bytes


def compare(
    name: str, work: Workload, repeats: int, gradients: ParameterGradients
) -> list[tuple[float, float, float]]:
    """Print one line per memory; return the relative errors of time, slowdown and peak."""
    device = work.sample_input.device
    chain = profile_chain(
        work.model,
        work.sample_input,
        name=name,
        model_name=name,
        loss=work.loss,
        warmup=2,
        repeats=repeats,
        gradients=gradients,
    )

    def begin() -> None:
        for parameter in work.model.parameters():
            if gradients is ParameterGradients.NEW:
                parameter.grad = None
            elif parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)

    def plain() -> None:
        begin()
        work.loss(work.model(work.sample_input)).backward()

    as_run = step_chain(chain)
    assert as_run is not None
    gradient_bytes = as_run.gradient_bytes
    print(f"{name}: {len(chain)} stages")
    errors = []
    for share in SHARES:
        try:
            scheduled = checkpoint_sequential_optimal(
                work.model, memory=f"{share}%", chain=chain, loss=work.loss
            )
        except InputError:
            print(f"  {share:3d} %  no schedule fits")
            continue

        def step(run: CheckpointedSequential = scheduled) -> None:
            begin()
            run(work.sample_input).backward()

        step()
        plain()
        turns = [(step_ns(step, device), step_ns(plain, device)) for _ in range(repeats)]
        time_ns, plain_ns = (median_low(column) for column in zip(*turns, strict=True))
        begin()
        peak_bytes = rise_bytes(step, device)
        predicted = scheduled.predicted
        predicted_bytes = predicted.peak_bytes + gradient_bytes - chain.input_bytes
        slowdown = predicted.time_ns / chain.base_time_ns
        whole = replace(predicted, peak_bytes=predicted_bytes)
        errors.append(report(share, whole, slowdown, time_ns, plain_ns, peak_bytes))
    return errors


def compare_graph(
    name: str, work: Workload, repeats: int, time_limit: float
) -> list[tuple[float, float, float]]:
    """Print one line per memory for the graph of a step; return the errors as `compare` does."""
    device = work.sample_input.device
    program = trace_step_program(
        work.model, work.sample_input, loss=work.loss, warmup=2, repeats=repeats
    )

    def plain() -> None:
        work.loss(work.model(work.sample_input)).backward()

    print(f"{name}, as a graph: {len(program.graph)} operations")
    errors = []
    for share in GRAPH_SHARES:
        problem = RematGraph(program.graph, f"{share}%")
        schedule = solve(problem, time_limit=time_limit).schedule
        if schedule is None:
            print(f"  {share:3d} %  no schedule found")
            continue
        scheduled = CheckpointedStep(program, problem, schedule)

        def step(run: CheckpointedStep = scheduled) -> None:
            run(work.sample_input).backward()

        step()
        plain()
        turns = [(step_ns(step, device), step_ns(plain, device)) for _ in range(repeats)]
        time_ns, plain_ns = (median_low(column) for column in zip(*turns, strict=True))
        # As predicted, the step makes its gradients.
        work.model.zero_grad()
        peak_bytes = rise_bytes(step, device)
        predicted = scheduled.predicted
        slowdown = predicted.time_ns / program.graph.base_time_ns
        errors.append(report(share, predicted, slowdown, time_ns, plain_ns, peak_bytes))
    return errors


def report(
    share: int,
    predicted: Prediction,
    slowdown: float,
    time_ns: int,
    plain_ns: int,
    peak_bytes: int,
) -> tuple[float, float, float]:
    """Print a line; return the relative errors of time, slowdown and peak."""
    row = (
        predicted.time_ns / time_ns - 1,
        slowdown / (time_ns / plain_ns) - 1,
        predicted.peak_bytes / peak_bytes - 1,
    )
    print(
        f"  {share:3d} %  time {predicted.time_ns / 1e6:7.1f} ms predicted, "
        f"{time_ns / 1e6:7.1f} measured ({row[0]:+.1%})  "
        f"slowdown {slowdown:.3f}, {time_ns / plain_ns:.3f} ({row[1]:+.1%})  "
        f"peak {predicted.peak_bytes / 2**20:.2f} MiB, {peak_bytes / 2**20:.2f} ({row[2]:+.1%})"
    )
    return row


def print_means(title: str, errors: list[tuple[float, float, float]]) -> None:
    """Print the mean absolute errors of a table."""
    if errors:
        time_error, slowdown_error, peak_error = (
            fmean(map(abs, column)) for column in zip(*errors, strict=True)
        )
        print(
            f"{title}: mean absolute error: time {time_error:.1%}, slowdown {slowdown_error:.1%}, "
            f"peak {peak_error:.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--gradients", choices=list(ParameterGradients), default="new")
    parser.add_argument("--time-limit", type=float, default=20.0, help="of each graph's schedule")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    errors: list[tuple[float, float, float]] = []
    for name in options.models:
        work = build(name, **MODELS[name]).to(options.device)
        errors += compare(name, work, options.repeats, ParameterGradients(options.gradients))
    print_means("chains", errors)
    errors = []
    for name in options.graphs:
        work = build(name, **GRAPHS[name]).to(options.device)
        errors += compare_graph(name, work, options.repeats, options.time_limit)
    print_means("graphs", errors)


if __name__ == "__main__":
    main()
