"""Figure 2 of RR-9302: three optima, against every search there is and the times of the report."""

from __future__ import annotations

from itertools import product

import pytest

from jettison import InputError, RematChain, ScheduleClass, solve
from jettison.instances.generators.persistence_figure import (
    PersistenceFigure,
    persistence_figure,
)
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.core.replay import Replay
from tests.remat_chain.oracles.brute_force import fastest, fastest_persistent
from tests.remat_chain.oracles.drops_brute_force import fastest_with_drops

ALL, CHECKPOINT, NONE, BACKWARD, DROP = ChainOperationKind


def problem_of(figure: PersistenceFigure) -> RematChain:
    return RematChain(figure.chain, figure.memory_bytes)


def brute_force(figure: PersistenceFigure) -> tuple[int | None, int | None, int | None]:
    given = figure.chain, figure.memory_bytes
    return fastest_persistent(*given), fastest(*given), fastest_with_drops(*given)


def claimed(figure: PersistenceFigure) -> tuple[int, int, int]:
    return figure.persistent_ns, figure.table_1_ns, figure.least_ns


def replayed(figure: PersistenceFigure, *steps: tuple[ChainOperationKind, int]) -> Replay:
    schedule = ChainSchedule(tuple(ChainOperation(kind, stage) for kind, stage in steps))
    replay = schedule.replay(figure.chain, figure.memory_bytes)
    assert replay.violations == ()
    return replay


@pytest.mark.parametrize("middle", [1, 2, 3, 4])
def test_brute_force_confirms_the_three_optima(middle: int) -> None:
    for first_ns in range(2 * middle + 1):
        figure = persistence_figure(middle, first_ns)
        assert brute_force(figure) == claimed(figure), first_ns
        other = persistence_figure(middle, first_ns, second_ns=3, loss_ns=5)
        assert brute_force(other) == claimed(other), first_ns


def test_the_exact_methods_find_them_on_longer_chains() -> None:
    gains = 0
    for middle, first_ns in product((5, 9, 14), range(0, 30, 3)):
        figure = persistence_figure(middle, first_ns)
        for method, time_ns in (
            ("rotor", figure.persistent_ns),
            ("rotor-exact", figure.persistent_ns),
            ("rotor-drops", figure.least_ns),
            ("unrestricted", figure.least_ns),
        ):
            result = solve(problem_of(figure), method, gap=0)
            assert result.time_ns == time_ns, (middle, first_ns, method)
            assert result.status.startswith("optimal"), (middle, first_ns, method)
        gains += figure.least_ns < figure.persistent_ns
    assert gains > 10


@pytest.mark.parametrize(("n", "k"), list(product((1, 2), range(6))))
def test_the_times_of_the_report_to_the_letter(n: int, k: int) -> None:
    # F 2 takes 1 ns in place of 2, between twice as many stages, and the loss 1 ns.
    figure = persistence_figure(2 * n, k, second_ns=1, loss_ns=1)
    # T1 = k + 2 (n + 1) and T2 = 3 k + 4, and T0 = 2 k + 4, which is not persistent.
    assert figure.persistent_ns == min(k + 2 * (n + 1), 3 * k + 4)
    assert figure.table_1_ns == min(k + 2 * (n + 1), 2 * k + 4)
    assert brute_force(figure) == claimed(figure)


def test_where_the_report_compares_them_the_chain_as_drawn_has_its_times() -> None:
    for n in range(2, 40):
        figure = persistence_figure(n, n - 1)
        assert figure.persistent_ns == 3 * n + 1
        assert figure.least_ns == 2 * n + 2


def test_the_schedule_of_the_idea_drops_a_checkpoint_for_a_later_one() -> None:
    # Stages 1 and 2, stages 3 to 5 between, and the loss, 6.
    figure = persistence_figure(3, 1)
    replay = replayed(
        figure,
        *((CHECKPOINT, 1), (CHECKPOINT, 2), (NONE, 3), (NONE, 4), (NONE, 5)),
        *((ALL, 6), (BACKWARD, 6)),
        # What a^1 leads to is saved, and a^1 given up for it.
        *((ALL, 2), (DROP, 1), (CHECKPOINT, 3), (NONE, 4), (ALL, 5), (BACKWARD, 5)),
        *((CHECKPOINT, 3), (ALL, 4), (BACKWARD, 4), (ALL, 3), (BACKWARD, 3)),
        *((ALL, 1), (BACKWARD, 2), (BACKWARD, 1)),
    )
    assert replay.schedule_class is ScheduleClass.PERSISTENT_WITH_DROPS
    # F 1 twice and F 2 twice: 2 k + 4.
    assert replay.time_ns == figure.least_ns == 6


def test_without_drops_the_second_forward_runs_once_more() -> None:
    figure = persistence_figure(3, 1)
    replay = replayed(
        figure,
        *((CHECKPOINT, 1), (CHECKPOINT, 2), (NONE, 3), (NONE, 4), (NONE, 5)),
        *((ALL, 6), (BACKWARD, 6)),
        *((NONE, 2), (CHECKPOINT, 3), (NONE, 4), (ALL, 5), (BACKWARD, 5)),
        *((CHECKPOINT, 3), (ALL, 4), (BACKWARD, 4), (ALL, 3), (BACKWARD, 3)),
        *((ALL, 1), (ALL, 2), (BACKWARD, 2), (BACKWARD, 1)),
    )
    assert replay.schedule_class is ScheduleClass.TABLE_1
    assert replay.time_ns == figure.table_1_ns == 8
    assert figure.persistent_ns == 9


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match=r"^middle: 0"):
        persistence_figure(0, 5)
    with pytest.raises(InputError, match="forward_ns"):
        persistence_figure(2, -1)
