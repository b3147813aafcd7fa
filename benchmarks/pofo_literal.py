"""POFO's Theorem 1 as it is written, all states in slots: what 50 slots cost, and what they lose.

Run: ``python -m benchmarks.pofo_literal [--memory 40%] [--bandwidth 12GB/s] [--slots 50] NAME``.
Each line is one number of slots: states, CPU seconds, the value of the program, and its plan, timed
again without rounding; as overheads over the time without recomputation, beside the bracket of the
optimum of the class. The last line is rotor, which moves nothing. Transfers are fluid.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction

import jettison as jt
from benchmarks.cpu_clock import cpu_seconds
from jettison.remat_offload import Transfers
from jettison.solvers.remat_offload.pofo.fluid_schedule import fluid_schedule
from tests.remat_offload.oracles.literal_program import LiteralProgram

INSTANCES = ("resnet50-b128-gpu", "resnet101-b64-gpu", "densenet121-b64-gpu")


def report(name: str, memory: str, bandwidth: str, slots: list[int], limit_s: float) -> None:
    """Print the lines of one instance."""
    chain = jt.load(name)
    assert isinstance(chain, jt.Chain)
    problem = jt.RematOffloadChain(chain, memory, bandwidth, Transfers.FLUID)
    base_ns = chain.base_time_ns

    def overhead(time_ns: float | None) -> str:
        if time_ns is None or not math.isfinite(time_ns):
            return "       -"
        return f"{100 * (time_ns / base_ns - 1):7.3f}%"

    result = jt.solve(problem, "pofo", time_limit=limit_s)
    floors = [b.time_ns for b in result.bounds if str(b.valid_for) == "pofo"]
    print(
        f"{name}: {len(chain)} stages in {memory}, optimum of the class "
        f"{overhead(max(floors, default=None)).strip()} to {overhead(result.time_ns).strip()}",
        flush=True,
    )
    rate = Fraction(problem.link.bytes_per_s, 10**9)
    for count in slots:
        started = cpu_seconds()
        program = LiteralProgram(chain, problem.memory_bytes, rate, count)
        line = f"{count:6} slots {program.states:12,} states {cpu_seconds() - started:8.1f} CPU s"
        timed = None
        if math.isfinite(program.time_ns):
            schedule = fluid_schedule(chain, program.plan())
            replay = schedule.replay(chain, problem.link, Transfers.FLUID, problem.memory_bytes)
            assert replay.valid
            timed = replay.time_ns
        print(f"{line}  value {overhead(program.time_ns)}  plan {overhead(timed)}", flush=True)
    rotor_ns = jt.solve(jt.RematChain(chain, memory), "rotor-exact", time_limit=limit_s).time_ns
    print(f" rotor{'':48}{overhead(rotor_ns)}", flush=True)


def main() -> None:
    """Report on all instances."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instances", nargs="*", default=INSTANCES)
    parser.add_argument("--memory", default="40%")
    parser.add_argument("--bandwidth", default="12GB/s")
    parser.add_argument("--slots", default="20,50,100")
    parser.add_argument("--limit", type=float, default=60.0)
    arguments = parser.parse_args()
    slots = [int(count) for count in arguments.slots.split(",")]
    for name in arguments.instances:
        report(name, arguments.memory, arguments.bandwidth, slots, arguments.limit)


if __name__ == "__main__":
    main()
