"""Several hundred random chains with what the brute force knows of them, for many tests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.chains import random_chain
from tests.remat_chain.oracles.brute_force import Front, persistent_front, table_1_front
from tests.remat_chain.oracles.drops_brute_force import trade_off_with_drops

SEED = 20
# How many chains of 1, 2, ... stages: few of the longest, which take the longest to search.
COUNTS = {1: 30, 2: 100, 3: 200, 4: 200, 5: 30}


class JudgedChain(NamedTuple):
    """A chain, and its trade-offs between memory and time."""

    chain: Chain
    persistent: Front
    table_1: Front
    all_schedules: Front

    def memories(self) -> range:
        """Return every memory from one byte too little to one byte more than is of use."""
        return range(self.persistent[-1][0] - 1, self.chain.store_all_peak_bytes + 2)


def judged(chain: Chain) -> JudgedChain:
    """Return a chain with its trade-offs."""
    return JudgedChain(
        chain, persistent_front(chain), table_1_front(chain), trade_off_with_drops(chain)
    )


@cache
def judged_chains() -> tuple[JudgedChain, ...]:
    """Return the sample; it is the same in every run."""
    return tuple(_sample())


def _sample() -> Iterator[JudgedChain]:
    generator = random.Random(SEED)
    for stage_count, count in COUNTS.items():
        for _ in range(count):
            yield judged(random_chain(generator, stage_count))
