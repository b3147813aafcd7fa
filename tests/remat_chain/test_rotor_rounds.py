"""The rounds of rotor: more and more slots, and everything that can end them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jettison import Chain, InputError, RematChain, Result
from jettison.remat_chain import Stage
from jettison.solvers.core.method import Tuned
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain import cut_bound as chain_cut_bound
from jettison.solvers.remat_chain import rotor
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.memory_grid import Bracket
from jettison.solvers.remat_chain.rotor import (
    ROTOR,
    RotorParams,
    persistent_bracket,
    persistent_curve,
    solve_rotor,
)
from jettison.solvers.remat_chain.rotor_exact import solve_rotor_exact
from tests.remat_chain.oracles.brute_force import fastest_persistent

# Sizes that no number of slots within reach divides, on a chain where recomputing pays.
AWKWARD = Chain(
    name="awkward",
    input_bytes=10_007,
    stages=(
        Stage(name="a", forward_ns=3, backward_ns=5, output_bytes=20_011, saved_bytes=70_001),
        Stage(name="b", forward_ns=4, backward_ns=6, output_bytes=30_011, saved_bytes=90_001),
        Stage(name="c", forward_ns=2, backward_ns=2, output_bytes=10_009, saved_bytes=80_021),
        Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=50_021),
    ),
)
AWKWARD_TIGHT = RematChain(AWKWARD, 230_003)
COARSE = RotorParams(first_slots=2)


@pytest.mark.parametrize("slots", [0, -1])
def test_a_grid_needs_a_slot(slots: int) -> None:
    with pytest.raises(InputError, match=f"slots: {slots}; write at least 1"):
        persistent_bracket(AWKWARD, 230_003, slots)


def test_more_slots_are_taken_until_the_bracket_closes() -> None:
    seen: list[Progress] = []
    outcome = solve_rotor(AWKWARD_TIGHT, SolveOptions(gap=0.0, on_progress=seen.append), COARSE)
    result = Result.from_outcome(AWKWARD_TIGHT, "rotor", outcome, 0.0)
    assert result.time_ns == result.lower_bound_ns == fastest_persistent(AWKWARD, 230_003)
    assert outcome.work["slots"] == 2 * 2 ** (len(seen) - 1)
    # Bound and schedule come nearer from round to round.
    floors = [step.lower_bound_ns or 0 for step in seen]
    times = [step.time_ns or 0 for step in seen]
    assert floors == sorted(floors)
    assert times == sorted(times, reverse=True)


def test_a_gap_that_is_small_enough_ends_the_search() -> None:
    closed = solve_rotor(AWKWARD_TIGHT, SolveOptions(gap=0), COARSE)
    outcome = solve_rotor(AWKWARD_TIGHT, SolveOptions(gap=0.9), COARSE)
    assert outcome.termination is Termination.GAP_REACHED
    # Two slots leave all of the overhead open, four less than nine tenths of it.
    assert outcome.work["slots"] == 4 < closed.work["slots"]


@pytest.mark.parametrize(
    ("stop", "termination"),
    [
        (TimeoutError, Termination.TIME_LIMIT),
        (KeyboardInterrupt, Termination.INTERRUPTED),
        (MemoryError, Termination.MEMORY_LIMIT),
    ],
)
def test_a_search_that_is_stopped_keeps_the_schedule_of_least_memory(
    stop: type[BaseException], termination: Termination, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> Bracket:
        raise stop

    monkeypatch.setattr(rotor, "persistent_bracket", stopped)
    outcome = solve_rotor(AWKWARD_TIGHT, SolveOptions())
    assert outcome.termination is termination
    assert outcome.schedule == least_persistent_memory(AWKWARD)[1]
    assert [bound.method for bound in outcome.bounds] == ["cut-bound"]


@pytest.mark.parametrize("solve", [Tuned(solve_rotor, COARSE), solve_rotor_exact])
def test_an_interrupt_between_rounds_keeps_what_they_found(
    solve: Callable[[RematChain, SolveOptions], Outcome],
) -> None:
    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    outcome = solve(AWKWARD_TIGHT, SolveOptions(gap=0, on_progress=interrupt))
    assert outcome.termination is Termination.INTERRUPTED
    assert Result.from_outcome(AWKWARD_TIGHT, "rotor", outcome, 0.0).time_ns is not None


def test_a_table_that_is_too_large_is_not_begun() -> None:
    # 4 stages have 10 rows of 501 entries of 8 bytes at the first 500 slots.
    small = RotorParams(largest_table_bytes=10 * 501 * 8 - 1)
    outcome = solve_rotor(AWKWARD_TIGHT, SolveOptions(), small)
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert outcome.work["slots"] == 0
    enough = RotorParams(largest_table_bytes=10 * 501 * 8)
    assert solve_rotor(AWKWARD_TIGHT, SolveOptions(), enough).work["slots"] == 500


def test_several_memories_do_not_begin_a_table_that_is_too_large_either() -> None:
    memories, most_bytes = [AWKWARD_TIGHT.memory_bytes], 10 * 101 * 8
    with pytest.raises(MemoryError):
        persistent_curve(AWKWARD, memories, 101, largest_table_bytes=most_bytes)
    assert len(persistent_curve(AWKWARD, memories, 100, largest_table_bytes=most_bytes)) == 1


def test_what_time_is_left_goes_into_the_bound_and_never_less_than_a_fifth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float | None] = []

    def bounded(problem: Problem, options: SolveOptions, params: Params) -> Outcome:
        assert params == ROTOR
        limits.append(options.time_limit_s)
        return Outcome(termination=Termination.COMPLETED)

    monkeypatch.setattr(chain_cut_bound, "bound_chain_cut", bounded)
    for time_limit_s in (None, 100.0, 1e-9):
        solve_rotor(AWKWARD_TIGHT, SolveOptions(time_limit_s=time_limit_s))
    assert limits[0] is None
    assert limits[1] is not None
    assert 20 <= limits[1] < 100
    assert limits[2] == pytest.approx(0.2e-9)


@pytest.mark.parametrize("solve", [solve_rotor, solve_rotor_exact])
def test_an_interrupt_of_the_bound_is_one_of_the_whole(
    solve: Callable[[Problem, SolveOptions], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> Outcome:
        return Outcome(termination=Termination.INTERRUPTED)

    monkeypatch.setattr(chain_cut_bound, "bound_chain_cut", stopped)
    outcome = solve(AWKWARD_TIGHT, SolveOptions())
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.schedule is not None
    assert len(outcome.bounds) == 1


@pytest.mark.parametrize("time_limit_s", [None, 1e12, float("inf")])
def test_a_time_limit_beyond_every_clock_is_no_limit(time_limit_s: float | None) -> None:
    outcome = solve_rotor(AWKWARD_TIGHT, SolveOptions(time_limit_s=time_limit_s))
    assert outcome.termination in {Termination.COMPLETED, Termination.GAP_REACHED}


def test_threads_do_not_change_the_answer() -> None:
    alone = solve_rotor(AWKWARD_TIGHT, SolveOptions())
    assert solve_rotor(AWKWARD_TIGHT, SolveOptions(threads=3)) == alone
