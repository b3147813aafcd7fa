"""Pipelines of 2, 4 and 8 devices on measured chains: `exact` beside what people run.

A row for each chain, number of devices and method: the time of the step, how far it is above the
lower bound on persistent schedules (that of `exact`), and CPU seconds. The memory of each device is
that of the card on which the chain was measured, or what is given; there are 32 micro-batches.

    .venv/bin/python benchmarks/pipeline.py > benchmarks/pipeline.csv
"""

from __future__ import annotations

import argparse
import csv
import sys
import time

import jettison as jt
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.result import Result

CHAINS = (
    ("gpt3-13b-b1-v100", "32GiB"),
    ("gpt3-6.7b-b1-v100", "32GiB"),
    ("opt-30b-b4-gh-96", "96GiB"),
)
DEVICES = (2, 4, 8)
COLUMNS = (
    "chain",
    "devices",
    "memory",
    "method",
    "step_ms",
    "above_bound",
    "status",
    "cpu_seconds",
)


def main() -> None:
    """Write the rows as CSV to the standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", nargs="*", default=[f"{name}:{size}" for name, size in CHAINS])
    parser.add_argument("--devices", nargs="*", type=int, default=DEVICES)
    parser.add_argument("--microbatches", type=int, default=32)
    options = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    for given in options.chains:
        name, memory = given.rsplit(":", 1)
        chain = jt.load(name)
        for devices in options.devices:
            problem = PipelineChain(chain, memory, devices, options.microbatches)
            bound_ns: int | None = None
            for method in methods_of(problem.problem):
                start = time.process_time()
                result: Result = jt.solve(problem, method.name)
                seconds = time.process_time() - start
                if bound_ns is None:
                    bound_ns = result.lower_bound_ns
                step_ns = result.time_ns
                above = f"{step_ns / bound_ns - 1:.4f}" if step_ns and bound_ns else ""
                step_ms = "" if step_ns is None else f"{step_ns / 1e6:.1f}"
                row = (name, devices, memory, method.name, step_ms, above, result.status)
                table.writerow((*row, f"{seconds:.2f}"))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
