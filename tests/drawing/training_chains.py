"""Random chains with an optimizer, small enough for a search through all states."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain, Stage
from tests.drawing.overheads import with_saving_overheads


def random_training_chain(
    chance: random.Random, stages: int, trained: Collection[int] | None = None
) -> Chain:
    """Return a chain in which some stages have all that an optimizer needs.

    Parameters
    ----------
    chance, stages
        The source of chance, and the number of stages.
    trained
        The numbers of those that are updated; by default all.
    """
    found = []
    for number in range(1, stages + 1):
        output = chance.randint(1, 2) if number < stages else 0
        stage = Stage(
            name=f"s{number}",
            forward_ns=chance.randint(1, 3),
            backward_ns=chance.randint(1, 4),
            output_bytes=output,
            saved_bytes=output + chance.randint(0, 3),
            forward_overhead_bytes=chance.choice([0, 0, 1]),
            backward_overhead_bytes=chance.choice([0, 0, 1]),
        )
        if trained is None or number in trained:
            stage = replace(
                stage,
                weight_bytes=chance.randint(1, 4),
                weight_gradient_bytes=chance.choice([None, 0, 1, 3]),
                optimizer_state_bytes=chance.choice([0, 2]),
                update_ns=chance.randint(0, 2),
                host_update_ns=chance.choice([None, 0, 2]),
            )
        found.append(stage)
    return with_saving_overheads(Chain("random step", chance.choice([0, 1]), tuple(found)))
