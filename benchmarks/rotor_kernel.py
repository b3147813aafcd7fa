"""Time rotor's two programs against the same recurrence in plain numpy, on the same chains.

Run: ``python benchmarks/rotor_kernel.py``. For each length, a seeded chain of L layers and a loss:
every activation has one unit of 1 MiB, every layer saves 2 to 8 units, times are 1 to 100 us. The
memory lies at alpha = 0.2 between recomputing everything and saving everything, counted in 500
slots. A figure is the median CPU time of three runs of one process; both programs, floor and
ceiling, are part of it. The numpy baseline vectorizes over the memory sizes and runs up to L = 100;
its answers are compared with those of the kernel before a line is printed.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from jettison.instances.chain import Chain, Stage
from jettison.instances.remat_chain import RematChain
from jettison.solvers.chain_needs import ChainNeeds
from jettison.solvers.rotor import persistent_bracket

SLOTS = 500
SEED = 1
RUNS = 3
LONGEST_FOR_NUMPY = 100
UNIT_BYTES = 2**20


def synthetic_chain(layers: int) -> Chain:
    generator = random.Random(SEED)
    stages = [
        Stage(
            name=f"layer {number}",
            forward_ns=generator.randint(1_000, 100_000),
            backward_ns=generator.randint(1_000, 100_000),
            output_bytes=UNIT_BYTES,
            saved_bytes=generator.randint(2 * UNIT_BYTES, 8 * UNIT_BYTES),
        )
        for number in range(1, layers + 1)
    ]
    loss = Stage(name="loss", forward_ns=1_000, backward_ns=1_000, output_bytes=0, saved_bytes=0)
    return Chain("synthetic", UNIT_BYTES, (*stages, loss))


def numpy_bracket(chain: Chain, memory_bytes: int) -> tuple[float, float]:
    """Return the floor and the ceiling in nanoseconds, infinite where nothing fits."""
    needs = ChainNeeds(chain)
    available = memory_bytes - chain.input_bytes

    def rounded_up(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(-(-sizes * SLOTS // available), SLOTS + 1)

    def rounded_down(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(sizes > available, SLOTS + 1, sizes * SLOTS // available)

    need_all, need_none = rounded_up(needs.forward_all), rounded_up(needs.forward_none)
    floor, ceiling = (
        numpy_program(
            chain, rounded(needs.input_bytes), rounded(needs.saved_bytes), need_all, need_none
        )
        for rounded in (rounded_down, rounded_up)
    )
    return floor, ceiling


def numpy_program(
    chain: Chain,
    input_slots: NDArray[np.int64],
    saved_slots: NDArray[np.int64],
    need_all: NDArray[np.int64],
    need_none: NDArray[np.int64],
) -> float:
    """Fill the table of Theorem 1, one vector operation over all memory sizes per split."""
    count = len(chain)
    forward_ns = np.array([stage.forward_ns for stage in chain], dtype=np.float64)
    own_ns = forward_ns + [stage.backward_ns for stage in chain]
    prefix_ns = np.concatenate(([0.0], np.cumsum(forward_ns)))
    table = np.full((count, count, SLOTS + 1), np.inf)
    for t in range(count):
        table[t, t, need_all[t, t] :] = own_ns[t]
        for s in range(t - 1, -1, -1):
            best = np.full(SLOTS + 1, np.inf)
            for split in range(s + 1, t + 1):
                size = input_slots[split]
                parts = table[split, t, : SLOTS + 1 - size] + table[s, split - 1, size:]
                np.minimum(best[size:], parts + (prefix_ns[split] - prefix_ns[s]), out=best[size:])
            best[: need_none[s, t]] = np.inf
            first = max(need_all[s, t], saved_slots[s])
            saving = (
                own_ns[s] + table[s + 1, t, first - saved_slots[s] : SLOTS + 1 - saved_slots[s]]
            )
            np.minimum(best[first:], saving, out=best[first:])
            table[s, t] = best
    return float(table[0, count - 1, SLOTS])


def cpu_seconds(solve: Callable[[Chain, int], object], chain: Chain, memory_bytes: int) -> float:
    seconds = []
    for _ in range(RUNS):
        started = time.process_time()
        solve(chain, memory_bytes)
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def kernel_bracket(chain: Chain, memory_bytes: int) -> tuple[float, float]:
    """Return the floor and the ceiling in nanoseconds, infinite where nothing fits."""
    bracket = persistent_bracket(chain, memory_bytes, SLOTS)
    floor_ns = math.inf if bracket.floor_ns is None else float(bracket.floor_ns)
    if bracket.schedule is None:
        return floor_ns, math.inf
    return floor_ns, float(bracket.schedule.replay(chain, memory_bytes).time_ns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", nargs="*", type=int, default=[50, 100, 200, 339])
    print(f"{'L':>5} {'kernel s':>10} {'numpy s':>10} {'ratio':>7}")
    for layers in parser.parse_args().layers:
        chain = synthetic_chain(layers)
        memory_bytes = RematChain(chain, "alpha=0.2").memory_bytes
        kernel_s = cpu_seconds(kernel_bracket, chain, memory_bytes)
        if layers > LONGEST_FOR_NUMPY:
            print(f"{layers:>5} {kernel_s:>10.4f} {'-':>10} {'-':>7}")
            continue
        found, expected = kernel_bracket(chain, memory_bytes), numpy_bracket(chain, memory_bytes)
        if found != expected:
            raise SystemExit(f"L = {layers}: the kernel says {found}, numpy {expected}")
        numpy_s = cpu_seconds(numpy_bracket, chain, memory_bytes)
        print(f"{layers:>5} {kernel_s:>10.4f} {numpy_s:>10.4f} {numpy_s / kernel_s:>7.1f}")


if __name__ == "__main__":
    main()
