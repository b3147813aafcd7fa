"""The fastest persistent schedules of parts of a chain, compared with the recurrence."""

from __future__ import annotations

import random
from itertools import combinations_with_replacement

from jettison.schedules.remat_chain.schedule import ChainOperationKind
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.subchain import subchain_operations
from tests.drawing.chains import random_chain
from tests.remat_chain.oracles.recurrence import Recurrence


def test_every_part_of_a_chain_is_run_as_fast_as_the_recurrence_says() -> None:
    generator = random.Random(6)
    for _ in range(15):
        chain = random_chain(generator, generator.randint(1, 5))
        needs = ChainNeeds(chain)
        most = max(chain.store_all_peak_bytes - chain.input_bytes, 0)
        table = Recurrence().table(chain, most)
        for first, last in combinations_with_replacement(range(1, len(chain) + 1), 2):
            for available in range(0, most + 1, 3):
                found = subchain_operations(needs, first, last, available)
                expected = table.get((first, last, available))
                if found is None:
                    assert expected is None or expected == float("inf")
                    continue
                assert {item.stage for item in found} == set(range(first, last + 1))
                stages = [(item.kind, chain.stage(item.stage)) for item in found]
                time_ns = sum(
                    stage.backward_ns if kind is ChainOperationKind.BACKWARD else stage.forward_ns
                    for kind, stage in stages
                )
                assert time_ns == expected


def test_no_stages_are_no_operations() -> None:
    chain = random_chain(random.Random(1), 3)
    assert subchain_operations(ChainNeeds(chain), 2, 1, 0) == ()
