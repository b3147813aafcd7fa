"""Brackets of POFO's optimum on deep chains, grid by grid, beside rotor, which moves nothing.

Run: ``python benchmarks/pofo_deep.py [--memory 40% --bandwidth 12GB/s] [--limit 300] [INSTANCE]``.
Each line is the bracket after the last search on a grid, floor and plan as overheads over the time
without recomputation, and the gap between them as a part of the overhead of the plan. Transfers are
fluid. ``random`` is a chain of 150 layers of seed 1 whose sizes have no common unit, in 30 % of its
memory at 8 GB/s. The limit is in seconds of the clock, the figures are in CPU seconds; where others
use the machine, ask for a larger limit. The last line has the largest resident size of the process
until then.
"""

from __future__ import annotations

import argparse
import random
import resource
from fractions import Fraction

from cpu_clock import cpu_seconds

import jettison as jt
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload.pofo.brackets import PofoBrackets
from jettison.solvers.remat_offload.pofo.program import Recomputation

RANDOM = "random"
INSTANCES = (
    "densenet121-b64-gpu",
    "resnet101-b64-gpu",
    "gpt3-6.7b-b1-v100",
    "t5-770m-b1-v100",
    "t5-6b-b1-v100",
    RANDOM,
)
# Memory and bandwidth of the random chain, on which a link hides neither all nor nothing.
OF_RANDOM = ("30%", "8GB/s")
KIB_OF_A_MIB = 1024


def random_chain(layers: int = 150, seed: int = 1) -> Chain:
    """Return layers of some megabytes and milliseconds, and a loss."""
    generator = random.Random(seed)
    stages = []
    for number in range(1, layers + 1):
        output_bytes = generator.randint(8 * 10**6, 25 * 10**6)
        forward_ns = generator.randint(300_000, 3_000_000)
        stages.append(
            Stage(
                name=f"layer {number}",
                forward_ns=forward_ns,
                backward_ns=forward_ns * generator.randint(16, 24) // 10,
                output_bytes=output_bytes,
                saved_bytes=output_bytes + generator.randint(0, output_bytes),
                forward_overhead_bytes=generator.randint(0, output_bytes),
                backward_overhead_bytes=generator.randint(0, output_bytes),
            )
        )
    loss = Stage(name="loss", forward_ns=1_000, backward_ns=1_000, output_bytes=0, saved_bytes=0)
    return Chain("random", 20 * 2**20, (*stages, loss))


def report(name: str, memory: str, bandwidth: str, limit_s: float) -> None:
    chain = random_chain() if name == RANDOM else jt.load(name)
    assert isinstance(chain, Chain)
    problem = jt.RematOffloadChain(chain, memory, bandwidth, "fluid")
    rotor_ns = jt.solve(jt.RematChain(chain, memory), "rotor-exact").time_ns
    base_ns = chain.base_time_ns

    def overhead(time_ns: Fraction | int | None) -> str:
        return "        -" if time_ns is None else f"{100 * (float(time_ns) / base_ns - 1):8.4f}%"

    def gap(floor_ns: Fraction | None, plan_ns: Fraction | int | None) -> str:
        if floor_ns is None or plan_ns is None or plan_ns <= base_ns:
            return "-"
        return f"{100 * max(float((plan_ns - floor_ns) / (plan_ns - base_ns)), 0.0):.2f}%"

    print(f"{name}: {len(chain)} stages in {memory}, rotor {overhead(rotor_ns).strip()}")
    brackets = PofoBrackets(problem, Recomputation.ALLOWED, known_ns=lambda: rotor_ns)
    started, slots, last = cpu_seconds(), 0, ""
    try:
        for best in brackets.refine(SolveOptions(gap=0), Clock(limit_s)):
            if last and slots != brackets.slots:
                print(last, flush=True)
            slots = brackets.slots
            last = f"{slots:8} slots {cpu_seconds() - started:8.2f} CPU s"
            last += f" {overhead(best.floor_ns)} to {overhead(best.plan_ns)}"
            last += f", gap {gap(best.floor_ns, best.plan_ns or rotor_ns)}"
    except (TimeoutError, MemoryError):
        pass
    print(last if brackets.why_open is None else f"{last}: {brackets.why_open}")
    most_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // KIB_OF_A_MIB
    print(f"{cpu_seconds() - started:23.2f} CPU s in all, {most_mib} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instances", nargs="*", default=INSTANCES)
    parser.add_argument("--memory", default="40%")
    parser.add_argument("--bandwidth", default="12GB/s")
    parser.add_argument("--limit", type=float, default=300.0)
    arguments = parser.parse_args()
    for name in arguments.instances:
        memory, bandwidth = arguments.memory, arguments.bandwidth
        if name == RANDOM:
            memory, bandwidth = OF_RANDOM
        report(name, memory, bandwidth, arguments.limit)


if __name__ == "__main__":
    main()
