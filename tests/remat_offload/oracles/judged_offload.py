"""Random tiny chains with a memory and a link, and the least time of all their schedules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from jettison import Chain, Link, RematOffloadChain
from jettison.remat_offload import Transfers
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from tests.drawing.chains import random_chain
from tests.remat_offload.oracles.unrestricted import OffloadSearch

SEED = 30
# Half a byte, one byte and two bytes per ns: with the last, copies of odd sizes round up.
RATES = (500_000_000, 1_000_000_000, 2_000_000_000)
# How many chains of so many stages. The search of three takes up to half a minute: for these, the
# layers are small.
COUNTS = {1: 10, 2: 300, 3: 60}


class JudgedOffload(NamedTuple):
    """A problem with transfers at once, and the least time of its schedules."""

    problem: RematOffloadChain
    fastest_ns: int

    @property
    def chain(self) -> Chain:
        """The instance."""
        return self.problem.instance

    @property
    def is_delayed(self) -> bool:
        """Whether the memory costs time."""
        return self.fastest_ns > self.chain.base_time_ns

    def with_transfers(self, transfers: Transfers) -> RematOffloadChain:
        """Return the problem, of which every schedule at once is one, with these transfers."""
        problem = self.problem
        return RematOffloadChain(problem.instance, problem.memory_bytes, problem.link, transfers)

    def share(self, bound_ns: int) -> float:
        """Return how much of the time beyond the base time a bound proves."""
        base_ns = self.chain.base_time_ns
        return (bound_ns - base_ns) / (self.fastest_ns - base_ns)


@cache
def judged_offloads() -> tuple[JudgedOffload, ...]:
    """Return the sample; it is the same in every run."""
    return tuple(_sample())


def _sample() -> Iterator[JudgedOffload]:
    generator = random.Random(SEED)
    for stage_count, count in COUNTS.items():
        for _ in range(count):
            largest = 3 if stage_count < 3 else 2
            chain = random_chain(generator, stage_count, largest_output_bytes=largest)
            least, peak = least_memory_with_offloading(chain), chain.store_all_peak_bytes
            memory_bytes = generator.randint(least, max(least, peak - 1))
            rate = generator.choice(RATES)
            link = Link(rate)
            fastest_ns = OffloadSearch(chain, memory_bytes, link.bytes_per_ns).fastest()
            assert fastest_ns is not None
            yield JudgedOffload(RematOffloadChain(chain, memory_bytes, link), fastest_ns)
