"""Strategies and recomputation together, beside brute force."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from jettison import RematSharding, ScheduleClass, ShardedGraph
from jettison.formulations.remat_sharding.windows import WindowedSharding
from jettison.remat_sharding import Operator, Resharding, Role, ShardedSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_sharding.exact.method import solve_sharded_exact
from tests.remat_sharding.oracles.brute_force import best_staged_plan, priced_choices
from tests.remat_sharding.samples import any_order, training_steps
from tests.remat_sharding.tiny_sharded import LONE_OPERATOR, TWO_LAYERS, strategies_of

EXACT = SolveOptions(time_limit_s=20, gap=0)


@pytest.mark.parametrize("problems", [training_steps(11, 60), any_order(12, 60)])
def test_the_optimum_is_that_of_brute_force(problems: list[RematSharding]) -> None:
    for problem in problems:
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        result = solve_with(problem, "exact", EXACT)
        if result.replay is not None and result.replay.schedule_class is ScheduleClass.IN_ORDER:
            # Something is computed again after the last first computation, for what is kept.
            assert result.time_ns is not None
            assert best is None or result.time_ns <= best.time_ns
            continue
        if best is None:
            assert result.status.startswith("infeasible")
            assert result.infeasibility is not None
            least_bytes = result.infeasibility.least_memory_bytes
            assert (least_bytes is None) == (not priced_choices(problem.instance))
            assert least_bytes is None or least_bytes > problem.memory_bytes
            continue
        assert result.time_ns == best.time_ns
        assert result.status.startswith("optimal")


def test_a_loss_of_memory_costs_a_strategy_or_a_computation_whichever_is_less() -> None:
    # Whole, f and b take 4 each; b reads f after g. Halved f takes 2 ns more; again, its 3 ns.
    graph = ShardedGraph(
        "choice",
        (
            Operator(
                name="f",
                role=Role.FORWARD,
                strategies=strategies_of((3, 0, 4), (3, 2, 2)),
            ),
            Operator(
                name="g", role=Role.FORWARD, inputs=("f",), strategies=strategies_of((1, 0, 4))
            ),
            Operator(
                name="h", role=Role.BACKWARD, inputs=("g",), strategies=strategies_of((1, 0, 6))
            ),
            Operator(
                name="b", role=Role.BACKWARD, inputs=("h", "f"), strategies=strategies_of((1, 0, 1))
            ),
        ),
    )
    # At h there are f, g and h: 14 bytes whole, 12 halved; without f 10.
    for size, time_ns in ((14, 6), (13, 8), (12, 8)):
        assert solve_with(RematSharding(graph, size), "exact", EXACT).time_ns == time_ns
    assert solve_with(RematSharding(graph, 11), "exact", EXACT).time_ns == 9
    # b beside h and f is 11 bytes with f whole: f is halved and computed twice, 5 ns each time.
    assert solve_with(RematSharding(graph, 10), "exact", EXACT).time_ns == 13
    assert solve_with(RematSharding(graph, 9), "exact", EXACT).status == "infeasible-in-order"


def test_a_repeated_computation_pays_its_resharding_again() -> None:
    # x halved for f whole costs 5, once more when f is computed again.
    graph = ShardedGraph(
        "gather",
        (
            Operator(name="x", role=Role.INPUT, strategies=strategies_of((0, 0, 1))),
            Operator(
                name="f", role=Role.FORWARD, inputs=("x",), strategies=strategies_of((3, 0, 4))
            ),
            Operator(
                name="g", role=Role.FORWARD, inputs=("f",), strategies=strategies_of((1, 0, 4))
            ),
            Operator(
                name="h", role=Role.BACKWARD, inputs=("g",), strategies=strategies_of((1, 0, 6))
            ),
            Operator(
                name="b", role=Role.BACKWARD, inputs=("h", "f"), strategies=strategies_of((1, 0, 1))
            ),
        ),
        (Resharding("x", "f", ((5,),)),),
    )
    # All of it is 15 bytes at h. Without f 11: 6 and 5, then 3 and 5 again.
    assert solve_with(RematSharding(graph, 15), "exact", EXACT).time_ns == 11
    assert solve_with(RematSharding(graph, 12), "exact", EXACT).time_ns == 19


def test_the_memory_of_one_operator_is_a_proof_for_plans_in_order() -> None:
    result = solve_with(RematSharding(TWO_LAYERS, 15), "exact", EXACT)
    assert result.status == "infeasible-in-order"
    assert result.infeasibility is not None
    assert result.infeasibility.least_memory_bytes == 16
    assert result.infeasibility.needed_by == "g1"
    assert result.infeasibility.evidence is Evidence.EXACT


def test_without_a_limit_the_fastest_plan_is_found() -> None:
    for graph in (LONE_OPERATOR, TWO_LAYERS):
        result = solve_with(RematSharding(graph, "100%"), "exact", EXACT)
        free = solve_with(RematSharding(graph, 2**40), "exact", EXACT)
        assert result.time_ns == free.time_ns == graph.base_time_ns
        assert result.status == "optimal"


def test_more_cuts_never_lower_the_bound() -> None:
    for problem in training_steps(13, 25):
        values = []
        for cuts in ((), (len(problem.instance) // 2,), tuple(range(len(problem.instance)))):
            result = solve_model(WindowedSharding(cuts).build(problem).model, HighsOptions(gap=0))
            values.append(math.inf if result.objective is None else result.objective)
        assert values == sorted(values)


def test_bounds_and_plans_are_told_as_they_come() -> None:
    seen: list[Progress] = []
    options = replace(EXACT, on_progress=seen.append)
    problem = RematSharding(TWO_LAYERS, 20)
    outcome = solve_sharded_exact(problem, options)
    assert outcome.termination is Termination.COMPLETED
    assert outcome.schedule is not None
    best = outcome.schedule.replay(TWO_LAYERS, 20).time_ns
    assert seen[-1].time_ns == seen[-1].lower_bound_ns == best
    lower = [item.lower_bound_ns for item in seen if item.lower_bound_ns is not None]
    assert lower == sorted(lower)


def test_another_order_needs_less_than_the_operators_beside_earlier_parameters() -> None:
    # In order a runs beside w, 5 + 3 bytes; before w it leaves nothing, and w stands alone.
    graph = ShardedGraph(
        "late parameter",
        (
            Operator(name="w", role=Role.PARAMETER, strategies=strategies_of((0, 0, 3))),
            Operator(name="a", role=Role.FORWARD, strategies=strategies_of((1, 0, 5))),
        ),
    )
    early = ShardedSchedule.from_computations(graph, (0, 0), (1, 0))
    replay = early.replay(graph, 5)
    assert replay.valid
    assert replay.schedule_class is ScheduleClass.ALL
    result = solve_with(RematSharding(graph, 5), "exact", EXACT)
    assert result.status == "infeasible-in-order"
