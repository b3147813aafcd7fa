"""Random training steps with all fields of one budget: sizes of a few bytes, times of a few ns."""

from __future__ import annotations

import random

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.training_chain.problem import TrainingChain
from tests.drawing.overheads import with_saving_overheads

LINKS = (Link(10**9), Link(5 * 10**8), Link.half_duplex(10**9))


def random_step(chance: random.Random, stages: int) -> Chain:
    """Return a chain with weights, gradients, states and updates of all kinds."""
    found = []
    for number in range(stages):
        output_bytes = chance.randint(0, 4) if number < stages - 1 else 0
        found.append(
            Stage(
                name=f"stage {number + 1}",
                forward_ns=chance.randint(0, 5),
                backward_ns=chance.randint(0, 7),
                output_bytes=output_bytes,
                saved_bytes=output_bytes + chance.randint(0, 4),
                forward_overhead_bytes=chance.randint(0, 2),
                backward_overhead_bytes=chance.randint(0, 3),
                weight_bytes=chance.choice([0, 0, chance.randint(1, 6)]),
                weight_gradient_bytes=chance.choice([None, chance.randint(0, 4)]),
                optimizer_state_bytes=chance.choice([0, chance.randint(0, 5)]),
                update_ns=chance.choice([0, chance.randint(0, 3)]),
                host_update_ns=chance.choice([None, chance.randint(0, 6)]),
            )
        )
    return with_saving_overheads(Chain("drawn", chance.randint(0, 2), tuple(found)))


def random_problem(chance: random.Random, stages: int) -> TrainingChain:
    """Return such a step in a memory from a third of all to a little more than all."""
    chain = random_step(chance, stages)
    all_bytes = TrainingChain(chain, "100%", LINKS[0]).memory_bytes
    memory = chance.randint(all_bytes // 3, all_bytes + 2)
    return TrainingChain(chain, memory, chance.choice(LINKS))
