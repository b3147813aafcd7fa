"""Random persistent sequences with a link and a memory, many of them too small."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from jettison import Chain, Link
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.rotor import persistent_bracket
from jettison.solvers.remat_offload.tensor_lifetimes import TensorLifetimes
from tests.drawing.chains import random_chain, stage_of

BYTE_PER_NS = Link(10**9)
# Forwards of 4, 3, 2 ns, backwards twice as long; needs of 7, 12, 13, 15, 16, 10 bytes.
CHAIN = Chain(
    "three",
    1,
    (stage_of("one", 4, 8, 2, 6), stage_of("two", 3, 6, 2, 5), stage_of("loss", 2, 4, 0, 1)),
)
# Half a byte, one, two, and about 7/3 bytes per nanosecond.
LINKS = (Link(5 * 10**8), BYTE_PER_NS, Link(2 * 10**9), Link(7 * 10**9 // 3))


class OffloadCase(NamedTuple):
    """A sequence that fits in some memory, and another memory in which it is to run."""

    chain: Chain
    lifetimes: TensorLifetimes
    link: Link
    memory_bytes: int


def offload_cases(seed: int, count: int) -> Iterator[tuple[random.Random, OffloadCase]]:
    """Yield cases, each with the generator, for further choices."""
    generator = random.Random(seed)
    for _ in range(count):
        largest = generator.choice((3, 10))
        chain = random_chain(generator, generator.randint(1, 8), largest_output_bytes=largest)
        least_bytes, least = least_persistent_memory(chain)
        plenty = generator.randint(least_bytes, max(chain.store_all_peak_bytes, least_bytes))
        computations = persistent_bracket(chain, plenty, 500).schedule or least
        memory_bytes = generator.randint(2 * least_bytes // 3, plenty + 1)
        link = generator.choice(LINKS)
        yield (
            generator,
            OffloadCase(chain, TensorLifetimes(chain, computations), link, memory_bytes),
        )
