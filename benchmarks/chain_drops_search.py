"""The fastest of all schedules on bundled chains: the default method, with its proofs.

A row for each chain and memory in which anything fits: the overhead of rotor's optimum and that of
the best schedule of all, whether it is proved, its class, states of the search and CPU seconds.

    python benchmarks/chain_drops_search.py [CHAIN ...]
"""

from __future__ import annotations

import sys
import time

import jettison as jt

CHAINS = (
    "resnet18-b4-224-cpu",
    "resnet18-b64-32-cpu",
    "resnet50-b4-224-cpu",
    "resnet50-b1-500-cpu",
    "vgg16-b2-224-cpu",
    "vgg19-b1-224-cpu",
    "bert-base-b2-128-cpu",
    "gpt2-small-b1-256-cpu",
    "bert-large-b1-128-cpu",
)
PERCENTAGES = range(40, 100, 5)


def main(names: list[str]) -> None:
    """Solve each, print the rows and how many are proved."""
    solved = proved = faster = 0
    for name in names or CHAINS:
        chain = jt.load(name)
        for percentage in PERCENTAGES:
            problem = jt.RematChain(chain, f"{percentage}%")
            started = time.process_time()
            best = jt.solve(problem, gap=0)
            seconds = time.process_time() - started
            if best.time_ns is None or best.replay is None:
                continue
            persistent = jt.solve(problem, "rotor-exact", gap=0).time_ns
            solved += 1
            proved += best.status == "optimal"
            faster += persistent is not None and best.time_ns < persistent
            print(
                f"{name} {percentage} %: rotor {_overhead(chain, persistent)}, "
                f"all {_overhead(chain, best.time_ns)} ({best.time_ns} ns, {best.status}, "
                f"{best.replay.schedule_class}), {best.work.get('states')} states, "
                f"{seconds:.2f} CPU s",
                flush=True,
            )
    print(f"{solved} cases, {proved} proved optimal, {faster} faster than rotor")


def _overhead(chain: jt.Chain, time_ns: int | None) -> str:
    if time_ns is None:
        return "-"
    return f"{100 * (time_ns - chain.base_time_ns) / chain.base_time_ns:.2f} %"


if __name__ == "__main__":
    main(sys.argv[1:])
