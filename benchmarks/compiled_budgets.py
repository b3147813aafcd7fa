"""Plans under Inductor beside PyTorch's memory budgets: peaks and CPU times of real steps.

The model is that of ``examples/compile_in_half_the_memory.py``. It is compiled without a budget,
within budgets, by a plan in half of its peak, and by a plan in the smallest peak of a budget; then
all of them take turns. Writes ``compiled_budgets.csv`` and the table of ``docs/torch_compile.md``;
takes about two minutes of one core::

    .venv/bin/python -m benchmarks.compiled_budgets
    .venv/bin/python -m benchmarks.compiled_budgets --page-only
"""

from __future__ import annotations

import argparse
import copy
import csv
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch._functorch import config as functorch_config

from benchmarks.compiled_budgets_page import PAGE, RECORD, write_table
from benchmarks.own_backend import own_backend
from examples import compile_in_half_the_memory as example
from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter
from jettison.torch import compiled

BUDGETS = (1.0, 0.5, 0.3, 0.2, 0.1)
TURNS = 25


@dataclass(frozen=True, slots=True)
class Row:
    """Step that was compiled in one way.

    Attributes
    ----------
    name
        What compiled it.
    limit_bytes, predicted_bytes, measured_bytes
        Peaks of the step; the first two of plans only.
    cpu_ms
        CPU time of a step, the median of the turns.
    slowdown
        The same by that of the step that was compiled without a budget, the median of the turns.
    overhead, least_overhead
        Share of a step that the plan computes again by the assumed rates, and the bound.
    torch_version
        Version of PyTorch.
    """

    name: str
    limit_bytes: int | None = None
    predicted_bytes: int | None = None
    measured_bytes: int | None = None
    cpu_ms: float | None = None
    slowdown: float | None = None
    overhead: float | None = None
    least_overhead: float | None = None
    torch_version: str = torch.__version__


Step = Callable[[], None]


def step_of(run: Callable[..., Tensor], model: nn.Module, batch: Sequence[Tensor]) -> Step:
    """Return a step whose gradients are new."""

    def step() -> None:
        model.zero_grad()
        run(*batch).backward()

    return step


def peak_of(step: Step, model: nn.Module) -> int:
    """Return the measured peak of a step that has been compiled."""
    model.zero_grad()
    with CpuMemoryMeter() as meter, meter.window() as window:
        step()
    return window.rise_bytes


def by_torch(plain: nn.Module, budget: float, batch: Sequence[Tensor]) -> tuple[Row, Step]:
    """Compile a step within a budget of PyTorch; 1 is none."""
    model = copy.deepcopy(plain)
    step = step_of(
        torch.compile(model, backend=own_backend("inductor"), dynamic=False), model, batch
    )
    with functorch_config.patch(activation_memory_budget=budget):
        step()
    name = "`torch.compile`"
    if budget < 1:
        name += f", `activation_memory_budget` {budget:g}"
    return Row(name, measured_bytes=peak_of(step, model)), step


def by_plan(plain: nn.Module, memory: str | int, batch: Sequence[Tensor]) -> tuple[Row, Step]:
    """Compile a step by a plan."""
    model = compiled(copy.deepcopy(plain), memory=memory, gap=0.02, most_moves=example.MOST_MOVES)
    step = step_of(model, model, batch)
    step()
    plan = model.plan
    name = f'`memory="{memory}"`' if isinstance(memory, str) else "in the smallest peak of a budget"
    least = None if plan.bound_ns is None else plan.bound_ns / plan.base_time_ns - 1
    row = Row(
        f"jettison, {name}",
        limit_bytes=model.report.limit_bytes,
        predicted_bytes=model.predicted_peak_bytes,
        measured_bytes=peak_of(step, model),
        overhead=plan.overhead,
        least_overhead=least,
    )
    return row, step


def timed(found: Sequence[tuple[Row, Step]]) -> list[Row]:
    """Return the rows with CPU times of steps that take turns; the first is the measure."""
    turns = []
    for turn in range(TURNS + 2):
        spent = []
        for _, step in found:
            begin = time.process_time()
            step()
            spent.append(time.process_time() - begin)
        if turn >= 2:
            turns.append(spent)
    return [
        replace(
            row,
            cpu_ms=median(spent[at] for spent in turns) * 1000,
            slowdown=median(spent[at] / spent[0] for spent in turns),
        )
        for at, (row, _) in enumerate(found)
    ]


def measured_rows() -> list[Row]:
    """Compile all of the steps, and measure them."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    plain = example.Llama()
    shape = (example.BATCH, example.TOKENS)
    batch = (torch.randint(example.VOCABULARY, shape), torch.randint(example.VOCABULARY, shape))
    theirs = [by_torch(plain, budget, batch) for budget in BUDGETS]
    smallest = min(row.measured_bytes or 0 for row, _ in theirs)
    ours = [by_plan(plain, memory, batch) for memory in ("50%", smallest)]
    return timed([*theirs, *ours])


def write_record(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows; the file is replaced as a whole."""
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    key: f"{item:.5g}" if isinstance(item, float) else item
                    for key, item in asdict(row).items()
                }
            )
    beside.replace(path)


def main() -> None:
    """Measure, and write the record and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page-only", action="store_true")
    if not parser.parse_args().page_only:
        write_record(RECORD, measured_rows())
    write_table(PAGE, RECORD)
    print(f"CPU time of this program and its compilers: {sum(os.times()[:4]):.0f} s")


if __name__ == "__main__":
    main()
