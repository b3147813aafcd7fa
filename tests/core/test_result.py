"""Results: what can be made, what cannot, and how the status is worded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import Bound, Graph, InputError, RematChain, RematGraph, Result, ScheduleClass, solve
from jettison.remat_chain import ChainSchedule
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.bound import Evidence, best_bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.result import ContradictionError, InvalidScheduleError, replay_schedule
from jettison.solvers.core.solve import compare_with, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import recompute_all_schedule, store_all_schedule
from tests.tiny import LADDER, UNIFORM

FULL = RematChain(UNIFORM, "100%")
# Six layers of 2 + 3 ns and a loss of 1 + 1 ns.
BASE_NS = 32


def result_of(outcome: Outcome, problem: RematChain = FULL) -> Result:
    return Result.from_outcome(problem, "mine", outcome, 0.5)


def bound_of(time_ns: int, valid_for: ScheduleClass) -> Bound:
    return Bound(time_ns=time_ns, valid_for=valid_for, evidence=Evidence.EXACT, method="mine")


def test_a_schedule_that_breaks_a_rule_makes_no_result() -> None:
    broken = ChainSchedule(store_all_schedule(UNIFORM).operations[1:])
    with pytest.raises(InvalidScheduleError, match=r"F_all 2.*input missing: a\^1"):
        result_of(Outcome(termination=Termination.COMPLETED, schedule=broken))


def test_a_schedule_over_the_limit_makes_no_result() -> None:
    tight = RematChain(UNIFORM, UNIFORM.store_all_peak_bytes - 1)
    outcome = Outcome(termination=Termination.COMPLETED, schedule=store_all_schedule(UNIFORM))
    with pytest.raises(InvalidScheduleError, match="1 bytes over the limit"):
        result_of(outcome, tight)


def test_a_bound_above_a_schedule_of_its_class_is_a_contradiction() -> None:
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=store_all_schedule(UNIFORM),
        bounds=(bound_of(BASE_NS + 1, ScheduleClass.PERSISTENT),),
    )
    with pytest.raises(ContradictionError, match="32 ns, below the lower bound 33 ns"):
        result_of(outcome)


def test_a_proof_that_nothing_fits_beside_a_schedule_is_a_contradiction() -> None:
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=store_all_schedule(UNIFORM),
        infeasibility=Infeasibility(
            valid_for=ScheduleClass.ALL, least_memory_bytes=99, is_exact=True
        ),
    )
    with pytest.raises(ContradictionError, match="a schedule and a proof of none"):
        result_of(outcome)


def test_the_time_without_recomputation_makes_an_optimum_of_all_schedules() -> None:
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=store_all_schedule(UNIFORM),
        bounds=(bound_of(BASE_NS, ScheduleClass.PERSISTENT),),
    )
    result = result_of(outcome)
    assert result.status == "optimal"
    assert result.to_json()["valid_for"] == "all schedules"
    assert result.gap == 0


def test_optimal_is_not_said_without_persistent_where_the_bound_is_persistent() -> None:
    slow = recompute_all_schedule(UNIFORM)
    time_ns = slow.replay(UNIFORM).time_ns
    outcome = Outcome(
        termination=Termination.COMPLETED,
        schedule=slow,
        bounds=(bound_of(time_ns, ScheduleClass.PERSISTENT),),
    )
    assert result_of(outcome).status == "optimal-persistent"


def test_a_persistent_bound_is_no_bound_for_a_schedule_that_is_not() -> None:
    bounds = (bound_of(40, ScheduleClass.PERSISTENT), bound_of(35, ScheduleClass.ALL))
    assert best_bound(bounds, ScheduleClass.PERSISTENT) == bounds[0]
    assert best_bound(bounds, ScheduleClass.ALL) == bounds[1]


def test_the_gap_is_the_share_of_the_overhead_that_is_open() -> None:
    slow = recompute_all_schedule(UNIFORM)
    over_ns = slow.replay(UNIFORM).time_ns - BASE_NS
    nothing_proved = Outcome(termination=Termination.COMPLETED, schedule=slow)
    assert result_of(nothing_proved).gap == 1
    assert result_of(nothing_proved).status == "feasible"
    one_proved = replace(nothing_proved, bounds=(bound_of(BASE_NS + 1, ScheduleClass.ALL),))
    assert result_of(one_proved).gap == (over_ns - 1) / over_ns


@pytest.mark.parametrize(
    ("bound_ns", "gap", "termination"),
    [
        (8, 0.0, Termination.TIME_LIMIT),
        (8, 0.5, Termination.GAP_REACHED),
        (9, 0.0, Termination.COMPLETED),
        # A share of the time, 1 / 9, would be reached; of the overhead of 2 ns it is not.
        (8, 0.2, Termination.TIME_LIMIT),
    ],
)
def test_a_run_that_came_as_close_as_was_asked_did_not_run_out_of_time(
    monkeypatch: pytest.MonkeyPatch, bound_ns: int, gap: float, termination: Termination
) -> None:
    # 7 ns without recomputation, 9 with a computed twice.
    graph = Graph(
        name="three",
        nodes=(
            Node(name="a", duration_ns=2, output_bytes=1),
            Node(name="b", duration_ns=3, output_bytes=1, inputs=("a",)),
            Node(name="c", duration_ns=2, output_bytes=1, inputs=("a", "b")),
        ),
    )
    schedule = GraphSchedule.from_computations(graph, (0, 1, 0, 2))
    outcome = Outcome(
        termination=Termination.TIME_LIMIT,
        schedule=schedule,
        bounds=(bound_of(bound_ns, ScheduleClass.ALL),),
    )
    monkeypatch.setattr(Method, "run", lambda *_: outcome)
    result = solve_with(RematGraph(graph, 3), "exact", SolveOptions(gap=gap))
    assert (result.time_ns, result.termination) == (9, termination)


def test_more_bounds_judge_the_same_schedule_anew() -> None:
    slow = recompute_all_schedule(UNIFORM)
    time_ns = slow.replay(UNIFORM).time_ns
    result = result_of(Outcome(termination=Termination.COMPLETED, schedule=slow))
    better = result.with_bounds((bound_of(time_ns, ScheduleClass.ALL),))
    assert (result.status, better.status) == ("feasible", "optimal")


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (
            Outcome(
                termination=Termination.COMPLETED,
                infeasibility=Infeasibility(
                    valid_for=ScheduleClass.PERSISTENT, least_memory_bytes=9, is_exact=True
                ),
            ),
            "infeasible-persistent",
        ),
        (
            Outcome(
                termination=Termination.COMPLETED,
                infeasibility=Infeasibility(
                    valid_for=ScheduleClass.ALL, least_memory_bytes=9, is_exact=False
                ),
            ),
            "infeasible",
        ),
        (Outcome(termination=Termination.COMPLETED, note="does not fit"), "not-found"),
        (Outcome.not_applicable("there is no attention"), "not-applicable"),
        (Outcome(termination=Termination.TIME_LIMIT), "unknown"),
        (
            Outcome(
                termination=Termination.COMPLETED,
                bounds=(bound_of(40, ScheduleClass.ALL),),
            ),
            "bounded",
        ),
    ],
)
def test_without_a_schedule_the_status_says_what_is_known(outcome: Outcome, status: str) -> None:
    result = result_of(outcome)
    assert result.status == status
    assert result.time_ns is None
    assert result.gap is None


def test_a_method_that_does_not_apply_says_why_and_came_to_no_end() -> None:
    outcome = Outcome.not_applicable("there is no attention")
    assert not outcome.termination.is_regular
    found = result_of(outcome).to_json()
    assert (found["status"], found["termination"], found["note"]) == (
        "not-applicable",
        "not_applicable",
        "there is no attention",
    )
    assert found["infeasible_for"] is None
    with pytest.raises(AssertionError):
        Outcome(termination=Termination.NOT_APPLICABLE)


def test_a_start_is_the_answer_where_the_method_does_not_apply() -> None:
    problem = RematGraph(LADDER, "100%")
    start = GraphSchedule.from_computations(LADDER, range(len(LADDER)))
    found = solve(problem, "selective-attention", start=start)
    assert found.schedule == start
    assert found.termination is Termination.NOT_APPLICABLE


def test_a_schedule_of_the_wrong_kind_is_refused() -> None:
    graph_schedule = GraphSchedule.from_computations(LADDER, range(len(LADDER)))
    with pytest.raises(InputError, match="not a schedule for remat-chain"):
        replay_schedule(FULL, graph_schedule)
    with pytest.raises(InputError, match="not a schedule for remat-graph"):
        replay_schedule(RematGraph(LADDER, "100%"), store_all_schedule(UNIFORM))


def test_compare_lets_a_method_that_only_bounds_show_its_own_bound() -> None:
    problem = RematChain(UNIFORM, "70%")
    results = {item.method: item for item in compare_with(problem, None, SolveOptions())}
    own = solve(problem, "cut-bound")
    assert results["cut-bound"].lower_bound_ns == own.lower_bound_ns
    assert results["cut-bound"].status == "bounded"
    exact = results["rotor-exact"]
    assert results["recompute-all"].lower_bound_ns == exact.lower_bound_ns == exact.time_ns
