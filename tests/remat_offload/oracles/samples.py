"""Random chains with a memory and a link, from far too little of either to more than enough."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain, Stage
from tests.drawing.chains import random_chain
from tests.drawing.overheads import with_saving_overheads

# Bytes per second: an eighth of a byte per nanosecond to two bytes.
BANDWIDTHS = (125_000_000, 500_000_000, 10**9, 2 * 10**9)


class OffloadSample(NamedTuple):
    """One instance of the problem."""

    chain: Chain
    memory_bytes: int
    bytes_per_s: int

    @property
    def bytes_per_ns(self) -> Fraction:
        return Fraction(self.bytes_per_s, 10**9)


def offload_samples(
    seed: int, count: int, *, most_stages: int = 4, largest: int = 12
) -> Iterator[OffloadSample]:
    """Yield samples: two in three of small numbers with many zeros, the others up to `largest`."""
    generator = random.Random(seed)
    for position in range(count):
        stage_count = generator.randint(1, most_stages)
        if position % 3 == 0:
            chain = random_chain(generator, stage_count)
        else:
            chain = _chain(generator, stage_count, 4 if position % 3 == 1 else largest)
        low, high = chain.recompute_all_peak_bytes, chain.store_all_peak_bytes
        memory_bytes = generator.randint(low * 7 // 10, max(low, high))
        yield OffloadSample(chain, memory_bytes, generator.choice(BANDWIDTHS))


def _chain(generator: random.Random, stage_count: int, largest: int) -> Chain:
    def amount(most: int) -> int:
        return generator.choice((0, generator.randint(0, most), generator.randint(0, most)))

    def stage(number: int) -> Stage:
        output_bytes = 0 if number == stage_count else amount(largest)
        return Stage(
            name=f"stage {number}",
            forward_ns=amount(largest),
            backward_ns=amount(2 * largest),
            output_bytes=output_bytes,
            saved_bytes=output_bytes + amount(largest),
            forward_overhead_bytes=amount(largest // 3),
            backward_overhead_bytes=amount(largest // 3),
        )

    chain = Chain(
        name="sample",
        input_bytes=amount(largest),
        stages=tuple(stage(number) for number in range(1, stage_count + 1)),
        backward_overhead_holds_gradient=generator.random() < 0.3,
    )
    return with_saving_overheads(chain)
