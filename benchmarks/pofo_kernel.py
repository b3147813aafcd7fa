"""CPU time, memory and bracket of the POFO program on chains like those of the paper's section 5.

One line per chain, memory and bandwidth, each in a process of its own so that the memory is that of
one run. CPU seconds cover both grids and the search between them, on one thread.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time

from chain_dp import synthetic_chain

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers.remat_offload.pofo.bracket import pofo_bracket

SEED = 1
MIB = 2**20
# alpha of the paper, and gigabytes per second.
CASES = [(0.1, 12), (0.3, 12), (0.75, 12), (0.3, 24), (0.3, 36)]


def light_chain(layers: int) -> Chain:
    """Return stages that save about 8 MB per millisecond: a link can take a good part of it."""
    generator = random.Random(SEED)
    stages = []
    for number in range(1, layers + 1):
        output_bytes = generator.randint(8, 25) * 10**6
        forward_ns = generator.randint(300_000, 3_000_000)
        stages.append(
            Stage(
                name=f"layer {number}",
                forward_ns=forward_ns,
                backward_ns=forward_ns * generator.randint(16, 24) // 10,
                output_bytes=output_bytes,
                saved_bytes=output_bytes + generator.randint(1, 6) * output_bytes // 2,
                forward_overhead_bytes=generator.randint(0, output_bytes),
                backward_overhead_bytes=generator.randint(0, output_bytes),
            )
        )
    loss = Stage(name="loss", forward_ns=1_000, backward_ns=1_000, output_bytes=0, saved_bytes=0)
    return Chain("light", 20 * MIB, (*stages, loss))


# The chain of the benchmark of rotor saves about 50 MB per millisecond: a link takes little of it.
CHAINS = {"light": light_chain, "heavy": synthetic_chain}


def report(name: str, layers: int, alpha: float, gigabytes: int, slots: int) -> None:
    chain = CHAINS[name](layers)
    memory_bytes = RematChain(chain, f"alpha={alpha}").memory_bytes
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    bracket = pofo_bracket(chain, memory_bytes, gigabytes * 10**9, slots)
    seconds = time.process_time() - started
    used_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    floor = float((bracket.floor_ns or 0) / chain.base_time_ns)
    found = float(bracket.plan_ns / chain.base_time_ns) if bracket.plan_ns else float("inf")
    print(
        f"{name:>6} {layers:>4} {alpha:>6} {gigabytes:>5} {slots:>5} {seconds:>7.2f} "
        f"{used_mib:>6.0f} {floor:>8.4f} {found:>8.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=150)
    parser.add_argument("--slots", type=int, default=50)
    parser.add_argument("--case", nargs=3, metavar=("CHAIN", "ALPHA", "GB_PER_S"))
    arguments = parser.parse_args()
    if arguments.case:
        name, alpha, gigabytes = arguments.case
        report(name, arguments.layers, float(alpha), int(gigabytes), arguments.slots)
        return
    print(
        f"{'chain':>6} {'L':>4} {'alpha':>6} {'GB/s':>5} {'slots':>5} {'CPU s':>7} {'MiB':>6} "
        f"{'floor':>8} {'time':>8}   (in times without saving memory)",
        flush=True,
    )
    common = [f"--layers={arguments.layers}", f"--slots={arguments.slots}", "--case"]
    for name in CHAINS:
        for alpha, gigabytes in CASES:
            subprocess.run(
                [sys.executable, __file__, *common, name, str(alpha), str(gigabytes)], check=True
            )


if __name__ == "__main__":
    main()
