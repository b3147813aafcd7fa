"""Rows of graphs: operator by operator, and as CUDA graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu_steps.measured_step import (
    DEVICE,
    SOLVE_S,
    Row,
    apart,
    failed,
    gradients_of,
    peak_of,
    plain_of,
    step_of,
    turns_of,
)
from jettison.instances.catalog import save
from jettison.instances.core.errors import JettisonError
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.zoo.catalogue import build
from jettison.solvers.core.solve import solve
from jettison.torch import (
    CheckpointedStep,
    trace_step_program,
)
from jettison.torch.captured.step import CapturedStep

GRAPHS: dict[str, dict[str, Any]] = {
    "unet": {"batch": 16, "input_size": 256},
    "resnet50": {"batch": 32, "input_size": 224},
    "gpt2-small": {"batch": 4, "input_size": 512},
}
GRAPH_SHARES = ("60%",)


def graph_rows(
    name: str, sizes: dict[str, Any], short: str, repeats: int, folder: Path
) -> Iterator[Row]:
    """Yield the rows of a graph: operator by operator, and as CUDA graphs."""
    work = build(name, **sizes).to(DEVICE)
    label = f"{name}-graph-b{sizes['batch']}-{sizes['input_size']}-{short}"
    program = trace_step_program(
        work.model, work.sample_input, loss=work.loss, warmup=2, repeats=repeats
    )
    save(program.graph, folder / f"{label}.json")
    plain = plain_of(work)
    plain()
    expected = gradients_of(work)
    work.model.zero_grad(set_to_none=True)
    plain_bytes, _ = peak_of(plain)
    base_ns, count = program.graph.base_time_ns, len(program.graph)
    for share in GRAPH_SHARES:
        problem = RematGraph(program.graph, share)
        result = solve(problem, time_limit=SOLVE_S)
        for plan, executor in (
            ("remat-graph", CheckpointedStep),
            ("remat-graph, CUDA graphs", CapturedStep),
        ):
            row = Row(short, name, count, plan, share, base_ns, 0)
            try:
                if result.schedule is None:
                    yield failed(row, RuntimeError("no schedule found"))
                    continue
                scheduled = executor(program, problem, result.schedule)
                step = step_of(work, scheduled)
                if executor is CapturedStep:
                    # Recorded segments write to the same gradients in each step.
                    def step(run: Any = scheduled) -> None:
                        torch.manual_seed(0)
                        run(work.sample_input).backward()

                    work.model.zero_grad()
                    for _ in range(3):
                        step()
                    work.model.zero_grad(set_to_none=False)
                step()
                found = apart(gradients_of(work), expected)
                measured_bytes = reserved_bytes = None
                if executor is CheckpointedStep:
                    work.model.zero_grad(set_to_none=True)
                    measured_bytes, reserved_bytes = peak_of(step)
                measured_ns, plain_ns = turns_of(step, plain, repeats)
                yield Row(
                    **{
                        **asdict(row),
                        "plain_ns": plain_ns,
                        "predicted_ns": scheduled.predicted.time_ns,
                        "measured_ns": measured_ns,
                        "limit_bytes": problem.memory_bytes,
                        "plain_bytes": plain_bytes,
                        "predicted_bytes": scheduled.predicted.peak_bytes,
                        "measured_bytes": measured_bytes,
                        "reserved_bytes": reserved_bytes,
                        "gradients": found,
                    }
                )
                del scheduled, step
            except (JettisonError, RuntimeError) as error:
                yield failed(row, error)
