"""One budget on measured chains: the joint plan, its gap to the bound, every baseline beside it.

Run: ``python benchmarks/one_budget.py [--plans 40000] [--bound-limit 1800] [--output FILE.csv]
[INSTANCE ...]``. A row is a chain in a memory with a link: whether it fits or is proved not to; the
step of the joint search, the larger of the bounds and the gap as a share of the step; the step of
each baseline, and CPU seconds of search and bounds. The search tries so many plans, and each
baseline all of its own, so that a busy machine changes nothing but the seconds; the bounds have a
limit on the clock, which is there to end what hangs, and the search hardly any time for them. A row
in which the search is worse than a baseline ends the run. Rows that the file has already, of other
instances, stay. The last row is a chain of 150 stages that is drawn; give ``drawn-150-1`` for it
alone.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from pathlib import Path

from cpu_clock import cpu_seconds

import jettison as jt
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.training_chain.problem import TrainingChain
from jettison.instances.training_chain.with_optimizer import Optimizer, with_optimizer
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.training_chain.methods import METHODS
from jettison.solvers.training_chain.sweep_plans import MOVES_OF_A_PLAN

# Chain with the optimizer of its training, memories of the card and of smaller ones, links.
ROWS = (
    ("opt-350m-b1-2080-adam", "8GiB", "12GB/s"),
    ("opt-350m-b1-2080-adam", "4GiB", "12GB/s"),
    ("llama-3-8b-b1-gh200", "96GiB", "50GB/s"),
    ("llama-3-8b-b1-gh200", "48GiB", "50GB/s"),
    ("opt-30b-b4-gh200", "96GiB", "50GB/s"),
    ("opt-30b-b4-gh200", "96GiB", "400GB/s"),
    ("opt-30b-b4-gh200", "64GiB", "50GB/s"),
    ("opt-30b-b4-gh200", "4GiB", "50GB/s"),
    ("gpt3-6.7b-b1-v100-adam", "32GiB", "12GB/s"),
    ("gpt3-13b-b1-v100-adam", "32GiB", "12GB/s"),
)
# A chain that is drawn: its seed, its stages, and the memory and the link of the GPT-3 rows.
DRAWN = (1, 150, "32GiB", "12GB/s")
BASELINES = tuple(method.name for method in METHODS if method.promise is Promise.HEURISTIC)
BOUNDS = tuple(method.name for method in METHODS if method.promise is Promise.BOUND)
NS_PER_S = 10**9
# So long that the plans end the search, and a share of it for the bounds of the search itself.
SEARCH_LIMIT_S, SHARE_OF_BOUND = 7200.0, 1e-5


def drawn_chain(seed: int, stages: int) -> Chain:
    """Draw a chain of attention and MLP stages about as large as those of GPT-3 2.7B on a V100."""
    chance = random.Random(seed)
    found = []
    for number in range(1, stages + 1):
        is_attention = number % 2 == 1
        forward_ns = chance.randint(3_000_000, 6_000_000)
        weight_bytes = chance.randint(40, 60) * 2**20 * (1 if is_attention else 2)
        output_bytes = 10 * 2**20 if number < stages else 0
        saved_bytes = chance.randint(300, 600) * 2**20 if is_attention else 90 * 2**20
        found.append(
            Stage(
                name=f"stage {number}",
                forward_ns=forward_ns,
                backward_ns=forward_ns * chance.randint(160, 200) // 100,
                output_bytes=output_bytes,
                saved_bytes=saved_bytes,
                forward_overhead_bytes=saved_bytes // 2,
                backward_overhead_bytes=saved_bytes,
                weight_bytes=weight_bytes,
            )
        )
    chain = Chain(f"drawn-{stages}-{seed}", 2**20, tuple(found))
    # Adam in half precision with a copy in single precision, at the rates of the bundled chains.
    return with_optimizer(chain, Optimizer(6, 60 * 10**9, 20 * 10**9 // 3))


def seconds_of(time_ns: int | None) -> str:
    """Return a time in seconds as it is written, empty where there is none."""
    return "" if time_ns is None else f"{time_ns / NS_PER_S:.4f}"


def row_of(
    chain: Chain, memory: str, bandwidth: str, plans: int, bound_limit_s: float
) -> dict[str, str]:
    """Solve a row with every method.

    Raises
    ------
    RuntimeError
        If the default method is worse than a baseline.
    """
    name = chain.name
    problem = TrainingChain(chain, memory, bandwidth)
    began_s = cpu_seconds()
    options = SolveOptions(time_limit_s=SEARCH_LIMIT_S, most_moves=plans * MOVES_OF_A_PLAN)
    found = solve_with(problem, None, options, {"share_of_bound": SHARE_OF_BOUND})
    searched_s = cpu_seconds()
    bounds = [jt.solve(problem, bound, time_limit=bound_limit_s) for bound in BOUNDS]
    bounded_s = cpu_seconds()
    bound_ns = max((bound.lower_bound_ns or 0 for bound in bounds), default=0)
    fits = "yes" if found.time_ns is not None else "unknown"
    if found.infeasibility is not None:
        fits = "proved not to"
    row = {"instance": name, "memory": memory, "bandwidth": bandwidth, "fits": fits}
    row["base_s"] = seconds_of(problem.base_time_ns)
    row["bound_s"] = seconds_of(bound_ns or None)
    row["local-search_s"] = seconds_of(found.time_ns)
    row["gap_percent"] = ""
    if found.time_ns is not None:
        row["gap_percent"] = f"{100 * (1 - bound_ns / found.time_ns):.2f}"
    row["plans"] = f"{plans}"
    row["search_cpu_s"] = f"{searched_s - began_s:.1f}"
    row["bounds_cpu_s"] = f"{bounded_s - searched_s:.1f}"
    for method in BASELINES:
        time_ns = jt.solve(problem, method, time_limit=None).time_ns
        row[f"{method}_s"] = seconds_of(time_ns)
        if time_ns is not None and (found.time_ns is None or found.time_ns > time_ns):
            raise RuntimeError(f"{name}: {method} takes {time_ns} ns, the search {found.time_ns}")
    return row


def main() -> None:
    """Print the table, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=40_000, help="that the search may try")
    parser.add_argument(
        "--bound-limit", type=float, default=1800.0, help="wall-clock seconds of a bound"
    )
    parser.add_argument("--output", type=Path, help="CSV file")
    parser.add_argument("instances", nargs="*", help="rows of these instances only")
    given = parser.parse_args()
    drawn = drawn_chain(*DRAWN[:2])
    asked = [
        row
        for row in (*ROWS, (drawn.name, *DRAWN[2:]))
        if not given.instances or row[0] in given.instances
    ]
    if not asked:
        sys.exit("no row of these instances")
    known = read_rows(given.output) if given.output is not None else {}
    for key in asked:
        name, memory, bandwidth = key
        chain = drawn if name == drawn.name else jt.load(name)
        known[key] = row_of(chain, memory, bandwidth, given.plans, given.bound_limit)
        print(" ".join(f"{field}={value}" for field, value in known[key].items()), flush=True)
        if given.output is not None:
            order = [*ROWS, (drawn.name, *DRAWN[2:])]
            rows = [known[key] for key in order if key in known]
            with given.output.open("w", newline="", encoding="utf-8") as file:
                fields = list(known[key])
                writer = csv.DictWriter(
                    file, fields, lineterminator="\n", restval="", extrasaction="ignore"
                )
                writer.writeheader()
                writer.writerows(rows)


def read_rows(path: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the rows of a file by chain, memory and link; none where there is no file."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (row["instance"], row["memory"], row["bandwidth"]): row for row in csv.DictReader(file)
        }


if __name__ == "__main__":
    main()
