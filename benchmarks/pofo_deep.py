"""Brackets of POFO's optimum on deep chains, grid by grid, beside rotor, which moves nothing.

Run: ``python benchmarks/pofo_deep.py [--memory 40% --bandwidth 12GB/s] [--limit 300] [INSTANCE]``.
Each line is the bracket after the last search on a grid, floor and plan as overheads over the time
without recomputation. Transfers are fluid.
"""

from __future__ import annotations

import argparse

from cpu_clock import cpu_seconds

import jettison as jt
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload.pofo.brackets import PofoBrackets
from jettison.solvers.remat_offload.pofo.program import Recomputation

INSTANCES = ("densenet121-b64-gpu", "resnet101-b64-gpu", "gpt3-6.7b-b1-v100", "t5-770m-b1-v100")


def report(name: str, memory: str, bandwidth: str, limit_s: float) -> None:
    chain = jt.load(name)
    assert isinstance(chain, jt.Chain)
    problem = jt.RematOffloadChain(chain, memory, bandwidth, "fluid")
    rotor_ns = jt.solve(jt.RematChain(chain, memory), "rotor-exact").time_ns
    base_ns = chain.base_time_ns

    def overhead(time_ns: float | None) -> str:
        return "        -" if time_ns is None else f"{100 * (float(time_ns) / base_ns - 1):8.4f}%"

    print(f"{name}: {len(chain)} stages in {memory}, rotor {overhead(rotor_ns).strip()}")
    brackets = PofoBrackets(problem, Recomputation.ALLOWED, known_ns=lambda: rotor_ns)
    started, slots, last = cpu_seconds(), 0, ""
    try:
        for best in brackets.refine(SolveOptions(gap=0), Clock(limit_s)):
            if last and slots != brackets.slots:
                print(last)
            slots = brackets.slots
            last = f"{slots:8} slots {cpu_seconds() - started:8.2f} CPU s"
            last += f" {overhead(best.floor_ns)} to {overhead(best.plan_ns)}"
    except (TimeoutError, MemoryError):
        pass
    print(last if brackets.why_open is None else f"{last}: {brackets.why_open}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instances", nargs="*", default=INSTANCES)
    parser.add_argument("--memory", default="40%")
    parser.add_argument("--bandwidth", default="12GB/s")
    parser.add_argument("--limit", type=float, default=300.0)
    arguments = parser.parse_args()
    for name in arguments.instances:
        report(name, arguments.memory, arguments.bandwidth, arguments.limit)


if __name__ == "__main__":
    main()
