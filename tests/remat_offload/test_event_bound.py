"""The event bound: what it proves, and on what its bounds rest."""

from __future__ import annotations

import random

import pytest

from jettison import Chain, RematOffloadChain, ScheduleClass, load
from jettison.formulations.milp.array_model import ArrayModel
from jettison.remat_offload import Transfers
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_offload import event_bound as offload_event_bound
from jettison.solvers.remat_offload.event_bound import EventParams, bound_offload_events
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from tests.drawing.chains import chain_of, random_chain
from tests.remat_offload.oracles.judged_offload import judged_offloads

OPTIONS = SolveOptions(time_limit_s=60, gap=0)
TIGHT = chain_of(3, (4, 1, 2, 0, 0), (3, 0, 5, 0, 0))


@pytest.mark.parametrize("transfers", list(Transfers))
def test_no_schedule_is_faster(transfers: Transfers) -> None:
    for item in judged_offloads()[::9]:
        outcome = bound_offload_events(item.with_transfers(transfers), OPTIONS)
        assert outcome.bounds
        for bound in outcome.bounds:
            assert bound.valid_for is ScheduleClass.ALL
            assert item.chain.base_time_ns <= bound.time_ns <= item.fastest_ns, item


def test_the_relaxation_is_proved_exactly_and_the_binaries_rest_on_the_solver() -> None:
    # As a whole, the 3 bytes of the input take 3 ns to come back after B 2.
    outcome = bound_offload_events(RematOffloadChain(TIGHT, 10, 10**9), OPTIONS)
    assert [bound.evidence for bound in outcome.bounds] == [Evidence.EXACT, Evidence.SOLVER]
    assert outcome.bounds[-1].time_ns == TIGHT.base_time_ns + 3
    assert outcome.termination is Termination.COMPLETED


def test_a_link_far_slower_than_the_operations_proves_no_more_than_is_true() -> None:
    # Two bytes have to leave and come back, 2 s each at a byte per second, and 3 of the 5 ns of the
    # step pass meanwhile: 4 s and 2 ns.
    chain = chain_of(2, (0, 2, 2, 0, 0), (1, 2, 2, 0, 0), (1, 0, 0, 0, 0))
    problem = RematOffloadChain(chain, 8, 1)
    outcome = bound_offload_events(problem, OPTIONS)
    fastest = solve_with(problem, "pofo", OPTIONS)
    assert fastest.time_ns == 4 * 10**9 + 2
    assert {bound.time_ns <= fastest.time_ns for bound in outcome.bounds} == {True}


def test_nanoseconds_beside_copies_of_milliseconds_are_no_rounding() -> None:
    # Of the input, 3, and a2, 2, in units of 2^24 bytes and ns, and 6 of memory: B 2 needs both and
    # the gradient of a2, 7, so that the input leaves and comes back. What runs meanwhile takes few
    # nanoseconds, in which less than a millionth of a copy fits. The model counts in 2^16 ns, of
    # which 2e-5, 1.3 ns, are deducted.
    unit = 2**24
    layers = (6, 0, 0, 0, 0), (3, 2 * unit, 2 * unit, 0, 0), (8, 0, 0, 0, 0)
    problem = RematOffloadChain(chain_of(3 * unit, *layers), 6 * unit, 10**9)
    outcome = bound_offload_events(problem, OPTIONS)
    fastest = solve_with(problem, "pofo", OPTIONS)
    assert fastest.time_ns is not None
    assert outcome.bounds[-1].evidence is Evidence.SOLVER
    assert 0 <= fastest.time_ns - outcome.bounds[-1].time_ns <= 2


@pytest.mark.parametrize(
    ("input_bytes", "forward_ns", "saved_bytes"),
    [
        # A nanosecond beside 2^40 of them.
        (1, 2**40, 1),
        # A copy of nine million years at a byte per second.
        (2**48, 0, 1),
        # One byte beside 2^52.
        (1, 1, 2**52),
    ],
)
@pytest.mark.parametrize("transfers", list(Transfers))
def test_amounts_that_no_solver_can_hold_are_rounded(
    input_bytes: int, forward_ns: int, saved_bytes: int, transfers: Transfers
) -> None:
    layers = (1, 1, 1, 0, 1), (forward_ns, 1, saved_bytes, 0, 0), (1, 0, 0, 0, 1)
    chain = chain_of(input_bytes, *layers)
    least, most = least_memory_with_offloading(chain), chain.store_all_peak_bytes
    for memory_bytes in {least, max(least, most - 1)}:
        problem = RematOffloadChain(chain, memory_bytes, 1, transfers)
        outcome = bound_offload_events(problem, OPTIONS)
        fastest = solve_with(problem, "pofo", OPTIONS)
        assert outcome.bounds
        assert fastest.time_ns is not None
        assert {bound.time_ns <= fastest.time_ns for bound in outcome.bounds} == {True}


def test_a_solver_that_breaks_down_at_once_leaves_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> ModelSolution:
        raise SolverError("HiGHS fails: Solve error")

    monkeypatch.setattr(offload_event_bound, "solve_in_time", fails)
    outcome = bound_offload_events(RematOffloadChain(TIGHT, 10, 10**9), OPTIONS)
    assert outcome.termination is Termination.ERROR
    assert outcome.note == "the linear relaxation: HiGHS fails: Solve error"
    assert outcome.bounds == ()


def test_a_solver_that_denies_a_point_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = ModelSolution(termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=0.0)
    monkeypatch.setattr(offload_event_bound, "solve_in_time", lambda *_: denied)
    outcome = bound_offload_events(RematOffloadChain(TIGHT, 10, 10**9), OPTIONS)
    assert outcome.termination is Termination.ERROR
    assert outcome.infeasibility is None
    assert outcome.bounds == ()


def test_without_binaries_the_bound_of_the_relaxation_stands() -> None:
    params = EventParams(most_stages_with_binaries=1)
    outcome = bound_offload_events(RematOffloadChain(TIGHT, 10, 10**9), OPTIONS, params)
    assert [bound.evidence for bound in outcome.bounds] == [Evidence.EXACT]
    assert outcome.work["nodes"] == 0


def test_the_bound_falls_with_memory_and_with_the_rate_of_the_link() -> None:
    chain = random_chain(random.Random(3), 4)
    low, high = chain.recompute_all_peak_bytes, chain.store_all_peak_bytes

    def bound_ns(memory_bytes: int, rate: int) -> int:
        problem = RematOffloadChain(chain, memory_bytes, rate, Transfers.FLUID)
        return bound_offload_events(problem, OPTIONS).bounds[-1].time_ns

    in_memory = [bound_ns(memory_bytes, 10**8) for memory_bytes in range(low, high + 3, 3)]
    assert in_memory == sorted(in_memory, reverse=True)
    assert in_memory[0] > in_memory[-1] == chain.base_time_ns
    with_link = [bound_ns(low, rate) for rate in (10**7, 10**8, 10**9, 10**12)]
    assert with_link == sorted(with_link, reverse=True)


def test_sizes_and_times_of_a_real_chain_are_no_trouble() -> None:
    chain = load("gpt2-small-b1-256-cpu")
    assert isinstance(chain, Chain)
    memory_bytes = chain.store_all_peak_bytes // 2
    problem = RematOffloadChain(chain, memory_bytes, "100MB/s", Transfers.FLUID)
    outcome = bound_offload_events(problem, OPTIONS)
    assert outcome.bounds[0].evidence is Evidence.EXACT
    assert outcome.bounds[0].time_ns > chain.base_time_ns


def test_what_is_proved_stands_where_the_solver_breaks_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(model: ArrayModel, options: HighsOptions) -> ModelSolution:
        if model.integer.any():
            raise SolverError("HiGHS fails: Solve error")
        return solve_model(model, options)

    monkeypatch.setattr(offload_event_bound, "solve_in_time", failing)
    outcome = bound_offload_events(RematOffloadChain(TIGHT, 10, 10**9), OPTIONS)
    assert outcome.termination is Termination.ERROR
    assert [bound.evidence for bound in outcome.bounds] == [Evidence.EXACT]
    assert outcome.note is not None
    assert "Solve error" in outcome.note


def test_memory_below_a_single_operation_is_refused_for_all_schedules() -> None:
    outcome = bound_offload_events(RematOffloadChain(TIGHT, 8, 10**9), OPTIONS)
    assert outcome.bounds == ()
    assert outcome.infeasibility is not None
    assert outcome.infeasibility.valid_for is ScheduleClass.ALL


def test_without_time_there_is_no_bound() -> None:
    problem = RematOffloadChain(TIGHT, 10, 10**9)
    outcome = bound_offload_events(problem, SolveOptions(time_limit_s=1e-9))
    assert outcome.bounds == ()
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.note is not None


def test_a_chain_that_is_too_long_is_declined() -> None:
    chain = random_chain(random.Random(1), 31)
    problem = RematOffloadChain(chain, chain.store_all_peak_bytes, 1)
    outcome = bound_offload_events(problem, OPTIONS)
    assert outcome.bounds == ()
    assert outcome.note is not None
    assert "31 stages" in outcome.note
