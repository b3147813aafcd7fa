"""Training steps on a GPU beside what their plans predict: time, peak and what is copied.

    python -m benchmarks.gpu_steps.table --output steps.csv --instances DIR

Each row is one plan of one step: a chain that computes again (`remat-chain`), a chain that also
sends activations to pinned memory of the host on streams of its own (`remat-offload-chain`, at the
measured bandwidth of the link), a graph operator by operator and as CUDA graphs (`remat-graph`),
and the same step under ``torch.compile`` (`jettison.torch.compiled`).
Steps by the plan and plain steps take turns; a time is the median of the device's own clock. The
peak is that of PyTorch's allocator above what is there before the step.

The chains and graphs that were measured for this are written to the folder of ``--instances``.
Rows are written as they come, so that a run that is cut short keeps what it has.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

from benchmarks.gpu_steps.chains import CHAINS, chain_rows
from benchmarks.gpu_steps.compiled_steps import COMPILED, compiled_rows
from benchmarks.gpu_steps.graphs import GRAPHS, graph_rows
from benchmarks.gpu_steps.link import link_bytes_per_s
from benchmarks.gpu_steps.measured_step import DEVICE, Row
from benchmarks.gpu_steps.one_budget import BUDGETS, budget_rows
from jettison.instances.core.errors import JettisonError
from jettison.instances.profilers.device.device_name import device_name
from jettison.instances.profilers.device.processor_name import short_device_name


def main() -> None:
    """Measure, print and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", nargs="*", choices=CHAINS, default=list(CHAINS))
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--budgets", nargs="*", choices=BUDGETS, default=list(BUDGETS))
    parser.add_argument("--compiled", nargs="*", choices=COMPILED, default=list(COMPILED))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--batch", type=int, help="of all models, in place of their own")
    parser.add_argument("--input-size", type=int, help="of all models, in place of their own")
    parser.add_argument("--output", type=Path, default=Path("gpu_steps.csv"))
    parser.add_argument("--instances", type=Path, default=Path("gpu_instances"))
    options = parser.parse_args()
    for sizes in (*CHAINS.values(), *GRAPHS.values(), *COMPILED.values(), *BUDGETS.values()):
        for key in ("batch", "input_size"):
            if (given := getattr(options, key)) is not None:
                sizes[key] = given
    folder, repeats = options.instances, options.repeats
    options.instances.mkdir(parents=True, exist_ok=True)
    short = short_device_name(device_name(DEVICE), DEVICE.type)
    link = link_bytes_per_s()
    print(f"{short}: link {link}", flush=True)
    slower = min(link["down"], link["up"])
    with options.output.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Row)])
        writer.writeheader()

        def write(rows: Iterator[Row]) -> None:
            for row in rows:
                writer.writerow(asdict(row))
                stream.flush()
                print(row, flush=True)

        def measure(kind: str, name: str) -> Iterator[Row]:
            if kind == "chain":
                return chain_rows(name, CHAINS[name], short, slower, repeats, folder)
            if kind == "graph":
                return graph_rows(name, GRAPHS[name], short, repeats, folder)
            if kind == "budget":
                return budget_rows(name, BUDGETS[name], short, slower, repeats, folder)
            return compiled_rows(name, COMPILED[name], short, repeats)

        for kind, names in (
            ("budget", options.budgets),
            ("compiled", options.compiled),
            ("chain", options.chains),
            ("graph", options.graphs),
        ):
            for name in names:
                begin = time.monotonic()
                try:
                    write(measure(kind, name))
                except (JettisonError, RuntimeError) as error:
                    print(f"{name}, {kind}: {type(error).__name__}: {error}", flush=True)
                print(f"{name}, {kind}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
