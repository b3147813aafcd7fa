"""revolve: the best schedule that checkpoints inputs only."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from jettison import Chain, RematChain, solve
from jettison.remat_chain import ChainOperation, ChainOperationKind
from jettison.solvers.remat_chain.least_memory import least_memory, least_persistent_memory
from jettison.solvers.remat_chain.needs import ChainNeeds, InputsOnlyNeeds
from tests.drawing.chains import random_chain
from tests.tiny import CHAINS, UNIFORM


def fastest_by_hand(chain: Chain, memory_bytes: int, s: int, t: int) -> int | None:
    """The best time for stages s..t beside their input and δ^t, by plain recursion in bytes."""
    needs = ChainNeeds(chain)
    own = chain.stage(s).forward_ns + chain.stage(s).backward_ns
    if s == t:
        return own if memory_bytes >= needs.forward_all[s - 1, s - 1] else None
    if memory_bytes < needs.forward_none[s - 1, t - 1]:
        return None
    times = []
    for split in range(s + 1, t + 1):
        kept = chain.activation_bytes(split - 1)
        right = fastest_by_hand(chain, memory_bytes - kept, split, t)
        left = fastest_by_hand(chain, memory_bytes, s, split - 1)
        if right is not None and left is not None:
            run = sum(chain.stage(k).forward_ns for k in range(s, split))
            times.append(run + right + left)
    return min(times, default=None)


def test_it_equals_the_recursion_without_saving_forwards() -> None:
    generator = Random(3)
    compared = 0
    for _ in range(60):
        chain = random_chain(generator, generator.randint(1, 5), largest_output_bytes=3)
        least = least_memory(InputsOnlyNeeds(chain))[0]
        for memory_bytes in range(least - 2, chain.store_all_peak_bytes + 1):
            result = solve(RematChain(chain, max(memory_bytes, 0)), "revolve", gap=0)
            available = memory_bytes - chain.input_bytes
            assert result.time_ns == fastest_by_hand(chain, available, 1, len(chain))
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.name)
def test_every_saving_forward_is_followed_by_its_backward(chain: Chain) -> None:
    result = solve(RematChain(chain, "200%"), "revolve")
    assert result.schedule is not None
    operations = result.schedule.operations
    for place, operation in enumerate(operations):
        assert isinstance(operation, ChainOperation)
        if operation.kind is ChainOperationKind.FORWARD_ALL:
            following = operations[place + 1]
            assert (following.kind, following.stage) == (
                ChainOperationKind.BACKWARD,
                operation.stage,
            )


def test_in_plenty_of_memory_each_forward_but_the_last_runs_twice() -> None:
    # All inputs are kept: one pass forward, then F_all and B of each stage, the loss excepted.
    result = solve(RematChain(UNIFORM, "400%"), "revolve")
    assert result.time_ns == UNIFORM.base_time_ns + sum(
        stage.forward_ns for stage in UNIFORM.stages[:-1]
    )


def test_it_never_beats_rotor_and_can_need_less_memory_than_saving_all() -> None:
    for chain, share in combinations([*CHAINS, 50, 80], 2):
        if isinstance(chain, Chain) and isinstance(share, int):
            problem = RematChain(chain, f"{share}%")
            ours, theirs = solve(problem, "rotor-exact"), solve(problem, "revolve")
            if theirs.time_ns is not None:
                assert ours.time_ns is not None
                assert ours.time_ns <= theirs.time_ns
    assert least_memory(InputsOnlyNeeds(UNIFORM))[0] >= least_persistent_memory(UNIFORM)[0]


def test_where_it_does_not_fit_it_says_what_it_needs() -> None:
    least = least_memory(InputsOnlyNeeds(UNIFORM))[0]
    result = solve(RematChain(UNIFORM, least - 1), "revolve")
    assert result.time_ns is None
    assert result.note == f"revolve needs {least} B ({least} bytes) on this instance"
