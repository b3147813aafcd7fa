"""Chains with weights for the tests of weight offloading."""

from __future__ import annotations

import random
from collections.abc import Iterator

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.weight_offload.cycle import WeightCycle
from jettison.instances.weight_offload.problem import WeightOffload
from tests.drawing.overheads import with_saving_overheads
from tests.weight_offload.layers import weight_chain

BANDWIDTHS = (100_000_000, 300_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000)


def chain_of(*layers: tuple[int, int, int], saved_bytes: int = 0) -> Chain:
    """Return layers of (forward ns, backward ns, weight bytes); equation (1) holds."""
    return weight_chain(*((forward, backward, saved_bytes, w) for forward, backward, w in layers))


def random_chain(generator: random.Random) -> Chain:
    """Return one to seven layers, some of whose times and sizes are zero."""
    number = generator.randint(1, 7)

    def maybe(most: int) -> int:
        return generator.choice([0, generator.randint(0, most)])

    stages = []
    for place in range(number):
        output_bytes = 0 if place == number - 1 else maybe(6)
        stages.append(
            Stage(
                name=f"s{place}",
                forward_ns=maybe(9),
                backward_ns=maybe(15),
                output_bytes=output_bytes,
                saved_bytes=output_bytes + maybe(5),
                forward_overhead_bytes=maybe(5),
                backward_overhead_bytes=maybe(9),
                weight_bytes=generator.choice([0, 8, generator.randint(1, 9), maybe(30)]),
            )
        )
    chain = Chain("random", generator.randint(0, 4), tuple(stages))
    return with_saving_overheads(chain)


def random_problems(chains: int, seed: int = 1) -> Iterator[WeightOffload]:
    """Yield random chains in the least memory, in plenty, and between, on links of any speed."""
    generator = random.Random(seed)
    for _ in range(chains):
        chain = random_chain(generator)
        cycle = WeightCycle(chain)
        least, plenty = cycle.least_memory_bytes, cycle.no_offload_peak_bytes
        for memory in {least, plenty, generator.randint(least, plenty)}:
            yield WeightOffload(chain, memory, generator.choice(BANDWIDTHS))
