"""Write the certificates of small bundled instances that the tests check.

    python benchmarks/stored_certificates.py tests/certificates/data

One line each: what is certified, beside the bound that the method found. A certificate holds its
instance, so that those of an instance that has changed are not about it any more; the tests say so.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from jettison.cli.posed_problem import make_problem
from jettison.instances.bundled_entries import Origin
from jettison.instances.catalog import bundled_instances
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.solve import bound_with

MOST_STAGES = 60
MOST_GRAPH_STAGES = 16
LARGEST_BYTES = 25_000
TIME_LIMIT_S = 20.0
Case = tuple[str, str, Resources, str]


def cases() -> list[Case]:
    """Return problem, instance, resources and method of each certificate."""
    found: list[Case] = []
    for entry in bundled_instances():
        if entry.origin is Origin.IMPORTED:
            continue
        if entry.kind == "sharded-graph" and entry.name.startswith("mlp-26"):
            found.append(("remat-sharding", entry.name, Resources("70%"), "exact"))
        if entry.kind == "graph":
            found.append(("remat-graph", entry.name, Resources("95%"), "exact"))
        if entry.kind != "chain" or entry.size > MOST_STAGES:
            continue

        alpha = Resources(None, "0.5")
        found.append(("remat-chain", entry.name, alpha, "rotor-exact"))
        if entry.size <= MOST_GRAPH_STAGES:
            found.append(("remat-graph", entry.name, alpha, "exact"))
        if entry.name.startswith("gpt2-small"):
            slow = Resources("50%", None, "2GB/s")
            found.append(("remat-offload-chain", entry.name, slow, "pofo"))
        if entry.name.startswith("opt-350m-b1-2080-adam"):
            # Nothing fits; multipliers of a bound on the time take 100 kB.
            found.append(("training-chain", entry.name, Resources("1GiB", None, "12GB/s"), "cycle"))
        if entry.name.startswith("gpt2-"):
            found.append(("weight-offload", entry.name, Resources("60%", None, "12GB/s"), "agg"))
    return found


def main(folder: Path) -> None:
    for problem_name, name, resources, method in cases():
        started = time.process_time()
        problem = make_problem(problem_name, name, resources)
        options = SolveOptions(time_limit_s=TIME_LIMIT_S)
        verdict = bound_with(problem, None, method, options).certified(options)
        seconds = time.process_time() - started
        found = verdict.found_bound
        certificate = verdict.certificate
        said = "-" if found is None else f"{found.time_ns} ({found.valid_for})"
        if certificate is None:
            print(f"{problem_name} {name}: no certificate of {said}, {seconds:.1f} s", flush=True)
            continue
        path = folder / f"{problem_name}-{name}.gz"
        certificate.save(path)
        size_bytes = path.stat().st_size
        is_kept = size_bytes < LARGEST_BYTES
        if not is_kept:
            path.unlink()
        print(
            f"{problem_name} {name}: {certificate.time_ns} ({certificate.valid_for}) of {said}, "
            f"{size_bytes} bytes{'' if is_kept else ', too large to keep'}, {seconds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
