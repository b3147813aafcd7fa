"""The two optima that the generator claims, against every search there is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from jettison import InputError, RematChain, ScheduleClass, solve
from jettison.instances.generators.persistence_gap import PersistenceGap, persistence_gap
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from tests.remat_chain.oracles.brute_force import fastest, fastest_persistent

ALL, CHECKPOINT, NONE, BACKWARD, _ = ChainOperationKind


def best_persistent_ns(gap: PersistenceGap) -> int | None:
    result = solve(RematChain(gap.chain, gap.memory_bytes), "rotor-exact", gap=0)
    assert result.replay is not None
    assert result.replay.schedule_class is ScheduleClass.PERSISTENT
    assert result.status in {"optimal", "optimal-persistent"}
    return result.time_ns


def best_ns(gap: PersistenceGap) -> int:
    """Return the optimum of all schedules, with drops."""
    result = solve(RematChain(gap.chain, gap.memory_bytes), "unrestricted", gap=0)
    assert result.status == "optimal"
    assert result.time_ns is not None
    return result.time_ns


def test_the_numbers_of_two_levels_are_worked_out_by_hand() -> None:
    gap = persistence_gap(2, 6, first_ns=4)
    # Keeping a^1: F 1 once, F 2 before the backward of the loss and six times after it: 4 + 7.
    # Not keeping it at the loss: 3 F 1 and 3 F 2, 15. Giving it up after the loss, for a^2, and
    # restarting at the end for B 2 and B 1: 2 F 1 and 3 F 2.
    assert gap.persistent_ns == 11
    assert gap.table_1_ns == 11
    # With a shorter F 1 restarting pays: three times for the persistent, twice for the others.
    gap = persistence_gap(2, 6, first_ns=3)
    assert (gap.persistent_ns, gap.table_1_ns) == (10, 9)


def test_the_schedule_of_the_idea_is_replayed() -> None:
    # Two levels, four repeats: stages 1 and 2, tail 3 to 6, and the loss, 7.
    gap = persistence_gap(2, 4, first_ns=1)
    steps = [
        # a^1 is kept while the loss runs.
        *((CHECKPOINT, 1), (CHECKPOINT, 2), (NONE, 3), (NONE, 4), (NONE, 5), (NONE, 6)),
        *((ALL, 7), (BACKWARD, 7)),
        # It is given up for a^2, which had been computed from it before.
        *((NONE, 2), (CHECKPOINT, 3), (NONE, 4), (NONE, 5), (ALL, 6), (BACKWARD, 6)),
        *((CHECKPOINT, 3), (NONE, 4), (ALL, 5), (BACKWARD, 5)),
        *((CHECKPOINT, 3), (ALL, 4), (BACKWARD, 4), (ALL, 3), (BACKWARD, 3)),
        *((ALL, 1), (ALL, 2), (BACKWARD, 2), (BACKWARD, 1)),
    ]
    schedule = ChainSchedule(tuple(ChainOperation(kind, stage) for kind, stage in steps))
    replay = schedule.replay(gap.chain, gap.memory_bytes)
    assert replay.violations == ()
    assert replay.schedule_class is ScheduleClass.TABLE_1
    # F 1 twice, F 2 three times.
    assert replay.time_ns == gap.table_1_ns == 5


@pytest.mark.parametrize(
    ("levels", "repeats", "first_ns", "next_ns"),
    [(2, 2, 0, 1), (2, 2, 3, 2), (2, 3, 2, 3), (2, 4, 1, 1)],
)
def test_brute_force_confirms_both_times(
    levels: int, repeats: int, first_ns: int, next_ns: int
) -> None:
    gap = persistence_gap(levels, repeats, first_ns, next_ns)
    assert fastest_persistent(gap.chain, gap.memory_bytes) == gap.persistent_ns
    assert fastest(gap.chain, gap.memory_bytes) == gap.table_1_ns


@pytest.mark.parametrize(
    ("levels", "all_repeats"), [(2, (2, 3, 5, 9)), (3, (2, 4, 6)), (4, (4, 5))]
)
def test_both_optima_are_as_claimed_wherever_the_best_plan_changes(
    levels: int, all_repeats: tuple[int, ...]
) -> None:
    gains = 0
    for repeats in all_repeats:
        for first_ns in range(0, 3 * levels * repeats, levels):
            gap = persistence_gap(levels, repeats, first_ns, next_ns=2)
            assert best_persistent_ns(gap) == gap.persistent_ns
            # Drops save one of the reruns at most.
            assert gap.table_1_ns - 2 <= best_ns(gap) <= gap.table_1_ns
            gains += gap.persistent_ns > gap.table_1_ns
    assert gains >= 5


@pytest.mark.parametrize(("levels", "repeats"), [(2, 20), (3, 15), (4, 12)])
def test_long_chains_have_the_claimed_optima(levels: int, repeats: int) -> None:
    gap = persistence_gap(levels, repeats)
    assert best_persistent_ns(gap) == gap.persistent_ns
    assert gap.table_1_ns - 1 <= best_ns(gap) <= gap.table_1_ns
    assert gap.persistent_ns > gap.table_1_ns


@pytest.mark.parametrize("levels", [2, 3, 6, 20])
def test_the_ratio_tends_to_half_the_levels_and_a_half(levels: int) -> None:
    limit = Fraction(levels + 1, 2)
    distances = []
    for repeats in (10**3, 10**4, 10**5):
        # Only the formula is asked: a chain of this length is never solved.
        gap = persistence_gap(levels, levels * repeats // 50)
        distances.append(abs(limit - Fraction(gap.persistent_ns, gap.table_1_ns)))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < limit / 50


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match=r"^levels: 1"):
        persistence_gap(1, 5)
    with pytest.raises(InputError, match=r"^repeats: 1"):
        persistence_gap(2, 1)
    with pytest.raises(InputError, match="forward_ns"):
        persistence_gap(2, 2, first_ns=-1)
