"""Table of real models under schedules: rows that are missing are measured, one child each.

    .venv/bin/python -m benchmarks.real_models.table                # what is missing, and the page
    .venv/bin/python -m benchmarks.real_models.table --again llama  # one model anew
    .venv/bin/python -m benchmarks.real_models.table --page-only

Needs timm, torchvision, transformers and diffusers beside jettison[torch]. Rows are kept in
``rows.csv``; a model that fails has rows with the reason. The page is ``docs/real_models.md``.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from benchmarks.real_models.catalogue.entries import ENTRIES
from benchmarks.real_models.page import write_page
from benchmarks.real_models.table_row import TableRow, read_rows, write_rows

HERE = Path(__file__).parent
ROWS = HERE / "rows.csv"
PAGE = HERE.parents[1] / "docs" / "real_models.md"
PLANS = ("60%", "blocks", "budget-0.5")
# Where no schedule is known in 60 %: the gradient of one convolution's weights and what the kernel
# takes beside it are 56 % of the peak there, and per-block checkpointing needs 77 %.
OTHER_SHARES = {"fcn_resnet": "65%"}
# On a machine that others use a process waits for most of its time.
MOST_WAITING = 20


def measured(name: str, executor: str, plans: Sequence[str], limit_s: float) -> list[TableRow]:
    """Return the rows of a model, measured in a child process within a limit of CPU seconds.

    What it did not reach has a row with the reason.
    """
    command = [sys.executable, "-m", "benchmarks.real_models.one_model"]
    command += [name, *plans, "--executor", executor, "--cpu-s", f"{limit_s:.0f}"]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s * MOST_WAITING, check=False
        )
        last = [line for line in ended.stderr.splitlines() if line.strip()][-1:]
        reason = f"the process ended with {ended.returncode}: {' '.join(last)}"
        if ended.returncode == -signal.SIGXCPU:
            reason = f"not within {limit_s:.0f} CPU s"
        lines = ended.stdout
    except subprocess.TimeoutExpired as error:
        lines = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        reason = f"not within {limit_s * MOST_WAITING:.0f} s"
    found = [
        TableRow(**json.loads(line)) for line in lines.splitlines() if line.startswith('{"model"')
    ]
    reached = {row.plan for row in found}
    return found + [
        TableRow(name, plan, executor, error=reason) for plan in plans if plan not in reached
    ]


def _plans_of(name: str, plans: Sequence[str]) -> list[str]:
    return [OTHER_SHARES.get(name, plan) if plan == PLANS[0] else plan for plan in plans]


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="all of them by default")
    parser.add_argument("--again", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--executor", default="eager")
    parser.add_argument("--plans", nargs="*", default=PLANS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=900.0, help="CPU seconds of a model")
    parser.add_argument("--page-only", action="store_true")
    options = parser.parse_args()
    rows = read_rows(ROWS)
    for name in options.again:
        for plan in _plans_of(name, options.plans):
            rows.pop((name, plan, options.executor), None)
    wanted = {
        name: [
            plan
            for plan in _plans_of(name, options.plans)
            if (name, plan, options.executor) not in rows
        ]
        for name in (options.models or ENTRIES)
    }
    if not options.page_only:
        with ThreadPoolExecutor(options.jobs) as pool:
            tasks = [
                pool.submit(measured, name, options.executor, plans, options.limit_s)
                for name, plans in wanted.items()
                if plans
            ]
            for task in as_completed(tasks):
                # What another process has recorded meanwhile stays.
                rows = read_rows(ROWS)
                for row in task.result():
                    rows[row.key] = row
                    print(row.model, row.plan, row.error or row.measured_bytes, flush=True)
                write_rows(ROWS, rows)
    write_page(PAGE, rows)


if __name__ == "__main__":
    main()
