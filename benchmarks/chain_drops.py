"""Gain by drops on real chains: rotor beside rotor-drops, with a check of recorded values.

Run: ``python benchmarks/chain_drops.py``; ``--long`` adds chains of 36 and 53 stages. For each
bundled chain and each share of the memory that saving everything takes, a line gives the overhead
in per cent of the time without recomputation of the persistent optimum (`rotor-exact`) and of the
optimum with drops, both exact in bytes and nanoseconds, the part of the overhead that is gone, and
the CPU seconds of the second. Where nothing fits there is a dash.

Each schedule is replayed. The script ends with an error where an overhead is above the recorded
one by more than the hundredth of a per cent to which it was written down, or where drops do not fit
and are recorded to.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

import jettison as jt
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_chain.drop_search import fastest_with_drops
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor_exact import refine

EXACT = SolveOptions(time_limit_s=None, gap=0)
SHARES = (40, 50, 60, 70, 75, 80, 85, 90, 95)
# Overheads in per cent by share of memory, from a program that shares no code with this one.
RECORDED: Mapping[str, Mapping[int, float]] = {
    "resnet18-b4-224-cpu": {60: 13.58, 70: 12.46, 75: 9.47, 80: 8.41, 85: 7.10, 90: 4.11, 95: 3.48},
    "resnet18-b64-32-cpu": {60: 10.89, 70: 6.73, 75: 5.82, 80: 4.99, 85: 3.99, 90: 0.83, 95: 0.83},
    "resnet50-b4-224-cpu": dict(
        zip(SHARES, (19.68, 15.06, 11.70, 8.90, 7.27, 5.55, 4.49, 2.77, 1.72), strict=True)
    ),
    "resnet50-b1-500-cpu": dict(
        zip(SHARES, (19.77, 15.16, 11.90, 8.80, 7.25, 5.56, 4.45, 2.77, 1.68), strict=True)
    ),
    "vgg16-b2-224-cpu": {75: 21.35, 80: 10.43, 85: 6.18, 90: 3.02, 95: 0.67},
    "vgg19-b1-224-cpu": {85: 18.50, 90: 5.55, 95: 1.78},
    "bert-base-b2-128-cpu": dict(
        zip(SHARES[1:], (25.20, 20.57, 15.95, 13.65, 9.23, 6.96, 4.69, 2.42), strict=True)
    ),
    "gpt2-small-b1-256-cpu": dict(
        zip(SHARES[1:], (26.29, 19.58, 15.20, 13.01, 10.84, 8.66, 6.49, 4.33), strict=True)
    ),
    "bert-large-b1-128-cpu": dict(
        zip(SHARES, (24.94, 20.30, 16.88, 12.33, 10.08, 8.96, 6.71, 4.47, 2.23), strict=True)
    ),
}
RECORDED_LONG: Mapping[str, Mapping[int, float]] = {
    "resnet101-b2-224-cpu": {40: 18.82, 50: 13.87, 60: 9.83, 70: 7.05, 80: 4.94},
    "resnet152-b1-224-cpu": {40: 18.41, 50: 13.51, 60: 9.54, 70: 6.66, 80: 4.29},
}


def overheads(chain: Chain, memory_bytes: int) -> tuple[float | None, float | None, float]:
    """Return both overheads in per cent, None where nothing fits, and the seconds with drops."""
    persistent = None
    known = None
    if memory_bytes >= least_persistent_memory(chain)[0]:
        best = refine(ChainNeeds(chain), memory_bytes, EXACT)[0]
        assert best.is_complete
        persistent, known = best.time_ns, best.schedule
    started = time.process_time()
    found = fastest_with_drops(chain, memory_bytes, EXACT, known)
    seconds = time.process_time() - started
    dropping = None
    if found is not None:
        assert found[0].is_complete
        replay = found[0].schedule.replay(chain, memory_bytes)
        if not replay.valid or replay.time_ns != found[0].time_ns:
            raise SystemExit(f"{chain.name}: the schedule is not what was promised")
        dropping = replay.time_ns

    def per_cent(time_ns: int | None) -> float | None:
        return None if time_ns is None else 100 * (time_ns / chain.base_time_ns - 1)

    return per_cent(persistent), per_cent(dropping), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="chains of 36 and 53 stages as well")
    arguments = parser.parse_args()
    recorded = {**RECORDED, **(RECORDED_LONG if arguments.long else {})}
    print(f"{'chain':>24} {'memory':>7} {'rotor %':>8} {'drops %':>8} {'gone %':>7} {'CPU s':>8}")
    lost = []
    for name, marks in recorded.items():
        chain = jt.load(name)
        assert isinstance(chain, Chain)
        for share in SHARES:
            if name in RECORDED_LONG and share not in marks:
                continue
            memory_bytes = RematChain(chain, f"{share}%").memory_bytes
            rotor, drops, seconds = overheads(chain, memory_bytes)
            gone = "-" if not rotor or drops is None else f"{100 * (1 - drops / rotor):.0f}"
            columns = (
                "-" if rotor is None else f"{rotor:.2f}",
                "-" if drops is None else f"{drops:.2f}",
            )
            print(
                f"{name:>24} {share:>6}% {columns[0]:>8} {columns[1]:>8} {gone:>7} {seconds:>8.3f}",
                flush=True,
            )
            mark = marks.get(share)
            if mark is not None and (drops is None or drops > mark + 0.01):
                lost.append(f"{name} at {share} %: {columns[1]}, recorded {mark:.2f}")
    if lost:
        raise SystemExit("lost: " + "; ".join(lost))


if __name__ == "__main__":
    main()
