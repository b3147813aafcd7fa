"""Elementwise operators recomputed together: the class, its model, and its method."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import InputError, RematSharding, ScheduleClass, ShardedGraph
from jettison.formulations.remat_sharding.kiwi.counted_moments import (
    Moment,
    every_moment,
    moments_of,
)
from jettison.formulations.remat_sharding.kiwi.elementwise import KiwiElementwise
from jettison.remat_sharding import Operator, Role, ShardedSchedule, Strategy
from jettison.schedules.remat_sharding.elementwise_recomputation import (
    ElementwiseRecomputation,
    is_elementwise,
    recomputing,
)
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import compare_with, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.remat_sharding.fastest_plan import with_fastest
from tests.remat_sharding.elementwise_samples import elementwise_steps
from tests.remat_sharding.oracles.brute_force import best_staged_plan, shape_of
from tests.remat_sharding.oracles.elementwise_force import (
    best_elementwise_plan,
    computations,
    peak_of,
    recomputable_sets,
)
from tests.remat_sharding.steps import encoder
from tests.remat_sharding.tiny_sharded import WAITING
from tests.remat_sharding.tiny_sharded import operator as unnamed

EXACT = SolveOptions(time_limit_s=30, gap=0)


def _operator(
    name: str, role: Role, operation: str, times: dict[int, int], *inputs: str
) -> Operator:
    """Build an operator from the size of each strategy by its time."""
    strategies = tuple(
        Strategy(name=f"{time_ns} ns", compute_ns=time_ns, memory_bytes=size)
        for time_ns, size in times.items()
    )
    return Operator(name=name, role=role, operation=operation, strategies=strategies, inputs=inputs)


# A product of 1 byte; two elementwise operators of 4 bytes, both read backward, the second one of 3
# where it is slow; a product of 6.
RUN = ShardedGraph(
    "run",
    (
        _operator("dot", Role.FORWARD, "dot", {9: 1}),
        _operator("add", Role.FORWARD, "add", {1: 4}, "dot"),
        _operator("exp", Role.FORWARD, "exp", {1: 4, 8: 3}, "add"),
        _operator("top", Role.FORWARD, "dot", {9: 6}, "exp"),
        _operator("loss", Role.BACKWARD, "", {1: 1}, "top"),
        _operator("d_exp", Role.BACKWARD, "", {1: 1}, "loss", "exp"),
        _operator("d_add", Role.BACKWARD, "", {1: 1}, "d_exp", "add"),
    ),
)
FAST = (0,) * 7


def test_a_run_of_two_is_faster_than_what_the_reduced_problem_can() -> None:
    problem = RematSharding(RUN, 11)
    # Both again, with dot kept: 1 + 4 + 6 bytes while top runs, 1 + 6 + 1 while loss runs, and
    # 1 + 4 + 4 + 1 while d_exp does: 23 + 1 + 1 ns.
    both = solve_with(problem, "kiwi-elementwise", EXACT)
    assert both.status == "optimal-kiwi-elementwise"
    assert both.time_ns == 25
    assert isinstance(both.schedule, ShardedSchedule)
    assert both.schedule == ShardedSchedule.from_computations(
        RUN, FAST, (0, 1, 2, 3, 4, 1, 2, 5, 6)
    )
    # The reduced problem computes one of them again, and must keep exp small for loss, beside dot,
    # top and itself: 1 + 3 + 6 + 1 bytes, 23 + 7 + 1 ns.
    reduced = solve_with(problem, "kiwi-reduced", EXACT)
    assert (reduced.status, reduced.time_ns) == ("optimal-kiwi-reduced", 31)
    # In one byte less, while top runs there are 1 + 3 + 6, while loss runs 1 + 6 + 1, and with exp
    # slow again 1 + 4 + 3 + 1 while d_exp does.
    assert solve_with(RematSharding(RUN, 10), "kiwi-elementwise", EXACT).time_ns == 23 + 7 + 1 + 8
    assert solve_with(RematSharding(RUN, 10), "kiwi-reduced", EXACT).time_ns is None


def test_the_kinds_of_neighbours_decide_what_may_be_computed_again() -> None:
    found = ElementwiseRecomputation(RUN)
    assert found.elementwise == {1, 2}
    assert found.recomputable == (1, 2, 3)
    assert found.allows((0, 1, 2, 3, 4, 1, 2, 5, 6))
    assert found.allows((0, 1, 2, 3, 4, 5, 1, 6))
    # top is a product and reads exp; dot is read by no backward operator, and is none of the kind.
    assert not found.allows((0, 1, 2, 3, 2, 3, 4, 5, 6))
    assert not found.allows((0, 1, 2, 3, 4, 0, 1, 2, 5, 6))
    # add is wanted before d_exp if exp is computed again, and no earlier or later.
    assert not found.allows((0, 1, 2, 3, 1, 4, 2, 5, 6))
    assert not found.allows((0, 1, 2, 3, 4, 2, 5, 1, 6))


def test_where_nothing_is_called_a_product_neighbours_are_never_both_computed_again() -> None:
    operators = tuple(replace(item, operation="") for item in RUN.operators)
    found = ElementwiseRecomputation(replace(RUN, operators=operators))
    assert found.elementwise == frozenset()
    assert not found.allows((0, 1, 2, 3, 4, 1, 2, 5, 6))
    assert found.allows((0, 1, 2, 3, 4, 2, 5, 6))


def test_an_operator_that_only_a_recomputation_reads_comes_back_with_it() -> None:
    # No backward operator reads add: it is computed again for exp only, or waits for it.
    sharded = ShardedGraph(
        "behind",
        (
            *RUN.operators[:4],
            _operator("big", Role.FORWARD, "dot", {9: 8}, "top"),
            _operator("loss", Role.BACKWARD, "", {1: 1}, "big"),
            _operator("d_exp", Role.BACKWARD, "", {1: 1}, "loss", "exp"),
        ),
    )
    found = ElementwiseRecomputation(sharded)
    assert found.recomputable == (1, 2, 4)
    assert found.allows((0, 1, 2, 3, 4, 5, 1, 2, 6))
    # Nobody wants add alone.
    assert recomputing(sharded, {1}) == tuple(range(7))
    # While big runs there are exp 4, top 6 and itself 8, or the slow exp 3; with both again dot
    # waits in place of exp, 1 + 6 + 8.
    for memory_bytes, time_ns in ((18, 31), (17, 33), (15, 33), (14, None)):
        result = solve_with(RematSharding(sharded, memory_bytes), "kiwi-elementwise", EXACT)
        plan = best_elementwise_plan(sharded, memory_bytes)
        assert result.time_ns == (plan and plan.time_ns) == time_ns, memory_bytes
    assert solve_with(RematSharding(sharded, 16), "kiwi-reduced", EXACT).time_ns is None


def test_the_replay_names_the_class() -> None:
    both = ShardedSchedule.from_computations(RUN, FAST, (0, 1, 2, 3, 4, 1, 2, 5, 6))
    assert both.replay(RUN, 11).schedule_class is ScheduleClass.KIWI_ELEMENTWISE
    late = ShardedSchedule.from_computations(RUN, FAST, (0, 1, 2, 3, 1, 4, 2, 5, 6))
    assert late.replay(RUN).schedule_class is ScheduleClass.STAGED
    assert ScheduleClass.KIWI_ELEMENTWISE.covers(ScheduleClass.KIWI_REDUCED)
    assert ScheduleClass.STAGED.covers(ScheduleClass.KIWI_ELEMENTWISE)
    assert not ScheduleClass.KIWI_REDUCED.covers(ScheduleClass.KIWI_ELEMENTWISE)


def test_a_graph_whose_backward_operators_are_not_last_has_no_such_plans() -> None:
    late = unnamed("e", Role.FORWARD, ((1, 0),), ("d",))
    sharded = replace(WAITING, operators=(*WAITING.operators, late), fastest=())
    assert not is_elementwise(sharded, (0, 1, 2, 3, 4))
    with pytest.raises(InputError, match="'e' comes after a backward operator"):
        KiwiElementwise().build(RematSharding(sharded, 9))
    result = solve_with(RematSharding(sharded, 9), "kiwi-elementwise", EXACT)
    assert result.schedule is None
    assert "use another method" in (result.note or "")


def test_moments_tell_first_computations_from_repeated_ones() -> None:
    assert moments_of((0, 1, 2, 0, 1, 3)) == [
        Moment(0),
        Moment(1),
        Moment(2),
        Moment(3, 0),
        Moment(3, 1),
        Moment(3),
    ]


def test_all_rows_together_have_the_optimum_of_the_brute_force() -> None:
    runs = refused = 0
    for problem in elementwise_steps(seed=401, count=150):
        sharded = problem.instance
        built = KiwiElementwise(every_moment(sharded)).build(problem)
        solution = solve_model(built.model)
        plan = best_elementwise_plan(sharded, problem.memory_bytes)
        if plan is None:
            assert solution.objective is None
            refused += 1
            continue
        assert solution.objective is not None
        assert built.time_scale.from_model(solution.objective) == plan.time_ns
        schedule = built.schedule(solution.by_name(built.model))
        replay = schedule.replay(sharded, problem.memory_bytes)
        assert replay.valid
        assert replay.time_ns == plan.time_ns
        assert ScheduleClass.KIWI_ELEMENTWISE.covers(replay.schedule_class)
        again = {i for i in schedule.computations if schedule.computations.count(i) > 1}
        runs += any(again.intersection(sharded.inputs[i]) for i in again)
    assert runs >= 3
    assert refused >= 10


def test_the_method_is_between_the_full_problem_and_the_reduced_one_and_checkpoint_dots() -> None:
    faster = slower = 0
    for problem in elementwise_steps(seed=402, count=25):
        names = ["kiwi-elementwise", "kiwi-reduced", "alpa-checkpoint-dots"]
        # A contradiction between any plan and any bound raises.
        result, reduced, dots = compare_with(problem, names, EXACT)
        plan = best_elementwise_plan(problem.instance, problem.memory_bytes)
        full = best_staged_plan(problem.instance, problem.memory_bytes)
        assert result.time_ns == (plan and plan.time_ns)
        if plan is None:
            assert result.status.startswith("infeasible")
            assert reduced.time_ns is dots.time_ns is None
            continue
        assert result.status in {"optimal", "optimal-kiwi-elementwise", "optimal-staged"}
        assert full is not None
        assert full.time_ns <= plan.time_ns
        slower += full.time_ns < plan.time_ns
        for other in (reduced, dots):
            if other.time_ns is not None:
                assert plan.time_ns <= other.time_ns
        faster += reduced.time_ns is None or plan.time_ns < reduced.time_ns
    assert faster >= 2
    assert slower >= 1


def test_memory_of_a_plan_is_that_of_lifetimes_worked_out_otherwise() -> None:
    for problem in elementwise_steps(seed=403, count=30):
        sharded = problem.instance
        places = [item.allowed[0] for item in sharded.operators]
        try:
            plan = ShardedSchedule.from_computations(sharded, places, range(len(sharded)))
        except InputError:
            continue
        sizes = tuple(item.strategies[item.allowed[0]].memory_bytes for item in sharded.operators)
        for again in recomputable_sets(sharded):
            order = computations(shape_of(sharded), again)
            assert order == recomputing(sharded, again)
            plan = ShardedSchedule.from_computations(sharded, places, order)
            replay = plan.replay(sharded)
            assert replay.peak_bytes == peak_of(shape_of(sharded), sizes, order)
            assert ScheduleClass.KIWI_ELEMENTWISE.covers(replay.schedule_class)


def test_an_encoder_recomputes_elementwise_operators_and_is_faster() -> None:
    problem = RematSharding(with_fastest(encoder()), "70%")
    options = SolveOptions(time_limit_s=300, gap=1e-3)
    result, reduced, dots = compare_with(
        problem, ["kiwi-elementwise", "kiwi-reduced", "alpa-checkpoint-dots"], options
    )
    assert result.time_ns is not None
    # Proved: the reduced problem's own bound is above the plan.
    (bound,) = (bound for bound in reduced.bounds if bound.valid_for is ScheduleClass.KIWI_REDUCED)
    assert result.time_ns < bound.time_ns
    assert dots.time_ns is not None
    assert result.time_ns < dots.time_ns


def test_a_limit_on_work_ends_the_rounds() -> None:
    problem = RematSharding(with_fastest(encoder()), "70%")
    options = SolveOptions(time_limit_s=60, gap=0, most_moves=1_000)
    result = solve_with(problem, "kiwi-elementwise", options)
    assert result.termination is Termination.WORK_LIMIT


def test_a_time_limit_ends_with_what_is_known() -> None:
    problem = RematSharding(with_fastest(encoder()), "70%")
    result = solve_with(problem, "kiwi-elementwise", SolveOptions(time_limit_s=1e-6, gap=0))
    assert result.schedule is None
    assert not result.termination.is_regular
