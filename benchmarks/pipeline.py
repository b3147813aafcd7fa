"""Pipelines of 2, 4 and 8 devices on measured chains: `exact` beside what people run.

A row for each chain, number of devices, chunks and method: the time of the step, the lower bound on
persistent schedules that `exact` found, how far the step is above it, and CPU seconds. The memory
of each device is that of the card on which the chain was measured, or what is given; there are 32
micro-batches. A chain that is named drawn-N-SEED has N stages of random times and sizes. Rows that
the output has are kept, so that a run that was stopped goes on.

    .venv/bin/python benchmarks/pipeline.py
"""

from __future__ import annotations

import argparse
import csv
import itertools
import random
import time
from pathlib import Path

import jettison as jt
from jettison.instances.core.atomic_file import replacing
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.result import Result

CHAINS = (
    ("gpt3-13b-b1-v100", "32GiB"),
    ("gpt3-6.7b-b1-v100", "32GiB"),
    ("opt-30b-b4-gh-96", "96GiB"),
)
DEVICES = (2, 4, 8)
KEYS = ("chain", "devices", "memory", "chunks", "method")
COLUMNS = (*KEYS, "step_ms", "bound_ms", "above_bound", "status", "cpu_seconds")
Row = dict[str, str]


def main() -> None:
    """Write the rows that are missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", nargs="*", default=[f"{name}:{size}" for name, size in CHAINS])
    parser.add_argument("--devices", nargs="*", type=int, default=DEVICES)
    parser.add_argument("--chunks", nargs="*", type=int, default=(1,))
    parser.add_argument("--microbatches", type=int, default=32)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/pipeline.csv"))
    parser.add_argument("--again", action="store_true", help="measure rows that exist as well")
    options = parser.parse_args()
    rows = _read(options.output)
    for given, devices, chunks in itertools.product(
        options.chains, options.devices, options.chunks
    ):
        name, memory = given.rsplit(":", 1)
        others = {} if chunks == 1 else {"chunks": chunks}
        problem = PipelineChain(_chain(name), memory, devices, options.microbatches, None, **others)
        bound_ms = ""
        for method in methods_of(problem.problem):
            key = (name, str(devices), memory, str(chunks), method.name)
            if key not in rows or options.again:
                rows[key] = {**dict(zip(KEYS, key, strict=True)), **_measured(problem, method.name)}
            # All are compared to the bound of `exact`, which is the first.
            bound_ms = bound_ms or rows[key]["bound_ms"]
            step_ms = rows[key]["step_ms"]
            rows[key]["bound_ms"] = bound_ms
            if step_ms and bound_ms:
                rows[key]["above_bound"] = f"{float(step_ms) / float(bound_ms) - 1:.4f}"
            _write(options.output, rows)


def _chain(name: str) -> Chain:
    """Return a bundled chain, or one that is drawn as its name says."""
    if not name.startswith("drawn-"):
        return jt.load(name)
    count, seed = (int(word) for word in name.split("-")[1:])
    draw = random.Random(seed)
    stages = []
    for number in range(1, count + 1):
        output_bytes = 0 if number == count else draw.randint(8, 64) << 20
        forward_ns = draw.randint(2_000_000, 12_000_000)
        stages.append(
            Stage(
                name=f"stage {number}",
                forward_ns=forward_ns,
                backward_ns=2 * forward_ns,
                output_bytes=output_bytes,
                saved_bytes=output_bytes + (draw.randint(50, 400) << 20),
                forward_overhead_bytes=draw.randint(0, 64) << 20,
                backward_overhead_bytes=draw.randint(0, 64) << 20,
                weight_bytes=draw.randint(50, 200) << 20,
            )
        )
    return Chain(name, 16 << 20, tuple(stages))


def _measured(problem: PipelineChain, method: str) -> Row:
    start = time.process_time()
    result: Result = jt.solve(problem, method)
    seconds = time.process_time() - start
    return {
        "step_ms": _ms(result.time_ns),
        "bound_ms": _ms(result.lower_bound_ns),
        "above_bound": "",
        "status": str(result.status),
        "cpu_seconds": f"{seconds:.2f}",
    }


def _ms(time_ns: int | None) -> str:
    return "" if time_ns is None else f"{time_ns / 1e6:.1f}"


def _read(path: Path) -> dict[tuple[str, ...], Row]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    return {tuple(row[key] for key in KEYS): row for row in found}


def _write(path: Path, rows: dict[tuple[str, ...], Row]) -> None:
    lines = [",".join(COLUMNS), *(",".join(row[key] for key in COLUMNS) for row in rows.values())]
    with replacing(path) as stream:
        stream.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
