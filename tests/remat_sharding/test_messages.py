"""Bounds from messages against brute force, and what they remove."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from jettison import RematSharding, ScheduleClass
from jettison.formulations.remat_sharding.messages.arrays import StateGraph
from jettison.formulations.remat_sharding.messages.lifting import StatesLeft
from jettison.formulations.remat_sharding.messages.reduced import reduced_states
from jettison.formulations.remat_sharding.messages.windows import windowed_states
from jettison.remat_sharding import Role, ShardedSchedule
from jettison.schedules.remat_sharding.elementwise_recomputation import recomputing
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_sharding.exact.method import solve_sharded_exact
from jettison.solvers.remat_sharding.exact.search import SHARDED
from jettison.solvers.remat_sharding.kiwi.reduced import solve_kiwi_reduced
from jettison.solvers.remat_sharding.kiwi.reduced_rounds import REDUCED
from jettison.solvers.remat_sharding.messages.state_bound import MESSAGES, StateBound
from jettison.solvers.remat_sharding.strategies_of_computations import (
    FIXED,
    strategies_of_computations,
)
from tests.remat_sharding.oracles.brute_force import best_reduced_plan, best_staged_plan
from tests.remat_sharding.samples import any_order, training_steps

NO_LIMIT = Clock(None)


def problems_with_cuts(seed: int) -> Iterator[tuple[RematSharding, tuple[int, ...]]]:
    chance = random.Random(seed)
    for problem in (*training_steps(seed, 70), *any_order(seed + 1, 70)):
        count = len(problem.instance)
        for number in (0, 1, 2, 3):
            yield problem, tuple(sorted(chance.sample(range(count), min(number, count))))


def proved(graph: StateGraph, upper_ns: int | None) -> int | None:
    """Return what is proved after some passes; None where nothing is cheaper than the upper one."""
    bound = StateBound(graph, MESSAGES)
    for _ in range(3):
        bound.ascend(None if upper_ns is None else upper_ns, 40, NO_LIMIT)
        bound.prove(upper_ns)
    return None if bound.is_empty else bound.bound_ns


def test_no_bound_of_windows_exceeds_the_best_plan() -> None:
    looked_at = near = 0
    for problem, cuts in problems_with_cuts(81):
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        graph = windowed_states(problem, cuts).graph
        if best is None:
            continue
        bound_ns = proved(graph, None)
        assert bound_ns is not None
        assert bound_ns <= best.time_ns, (problem.instance.name, cuts)
        # With states removed that no plan as fast as the best one has, there is still that plan.
        kept_ns = proved(graph, best.time_ns + 1)
        assert kept_ns is not None
        assert kept_ns <= best.time_ns, (problem.instance.name, cuts)
        assert kept_ns >= problem.instance.base_time_ns
        looked_at += 1
        near += kept_ns >= 0.98 * best.time_ns
    assert looked_at > 300
    # A bound that proves nothing would pass everything above.
    assert near > looked_at / 2


def test_no_bound_lifted_from_fewer_cuts_exceeds_the_best_plan() -> None:
    looked_at = removed = 0
    for problem in (*training_steps(90, 80), *any_order(91, 80)):
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        if best is None:
            continue
        within: StatesLeft | None = None
        bound_ns = 0
        cuts: tuple[int, ...] = ()
        for cut in (None, 2, 1, 3):
            if cut is not None and cut >= len(problem.instance):
                continue
            cuts = cuts if cut is None else tuple(sorted((*cuts, cut)))
            whole = windowed_states(problem, cuts)
            states = windowed_states(problem, cuts, within)
            bound = StateBound(states.graph, MESSAGES)
            removed += StateBound(whole.graph, MESSAGES).num_states - bound.num_states
            for _ in range(3):
                bound.ascend(best.time_ns, 40, NO_LIMIT)
                bound.prove(best.time_ns + 1)
            # The best plan has states that are left, whatever the cuts.
            assert not bound.is_empty, (problem.instance.name, cuts)
            assert bound.bound_ns <= best.time_ns, (problem.instance.name, cuts)
            bound_ns = max(bound_ns, bound.bound_ns)
            within = states.left(bound.pairs())
        looked_at += 1
        assert bound_ns >= problem.instance.base_time_ns
    assert looked_at > 100
    assert removed > 1000


def test_no_bound_of_the_reduced_problem_exceeds_its_best_plan() -> None:
    looked_at = near = 0
    for problem in training_steps(83, 150):
        best = best_reduced_plan(problem.instance, problem.memory_bytes)
        if best is None:
            continue
        graph = reduced_states(problem).graph
        for upper_ns in (None, best.time_ns + 1):
            bound_ns = proved(graph, upper_ns)
            assert bound_ns is not None
            assert bound_ns <= best.time_ns, problem.instance.name
        looked_at += 1
        near += bound_ns >= 0.95 * best.time_ns
    assert looked_at > 100
    assert near > looked_at / 2


def test_labellings_of_the_reduced_problem_are_plans_that_take_their_cost() -> None:
    found = 0
    for problem in training_steps(84, 80):
        states = reduced_states(problem)
        bound = StateBound(states.graph, MESSAGES)
        bound.ascend(None, 60, NO_LIMIT)
        for labelling in bound.labellings():
            plan = states.plan(labelling.places, labelling.kinds)
            replay = plan.replay(problem.instance, problem.memory_bytes)
            # Values may wait for longer than they need to, so that a plan fits where none would.
            if labelling.excess_bytes == 0:
                assert replay.valid
                assert replay.time_ns == labelling.cost_ns
                found += 1
    assert found > 100


def test_the_best_plan_is_a_labelling_of_the_windows_that_costs_no_more() -> None:
    for problem in training_steps(85, 40):
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        if best is None:
            continue
        for cuts in ((2,), (1, 3)):
            bound = StateBound(windowed_states(problem, cuts).graph, MESSAGES)
            bound.ascend(best.time_ns, 80, NO_LIMIT)
            bound.prove(best.time_ns + 1)
            assert not bound.is_empty
            # States that are as good stay; those of strategies that the plan has are among them.
            places = [of_node for of_node, _ in bound.states()]
            choice = windowed_states(problem, cuts).choice
            assert all(k in places[choice[i]] for i, k in enumerate(best.strategies))


def test_a_plan_suggested_by_a_labelling_computes_everything() -> None:
    for problem in training_steps(86, 40):
        states = windowed_states(problem, (1, 3))
        bound = StateBound(states.graph, MESSAGES)
        if bound.is_empty:
            continue
        bound.ascend(None, 40, NO_LIMIT)
        for labelling in bound.labellings():
            plan = ShardedSchedule.from_computations(
                problem.instance,
                states.strategies(labelling.places),
                states.computations(labelling.kinds),
            )
            assert plan.replay(problem.instance).valid
            assert plan.replay(problem.instance).time_ns >= problem.instance.base_time_ns


def test_kiwi_reduced_after_messages_has_the_optimum_of_brute_force() -> None:
    params = replace(REDUCED, columns_for_messages=1, passes=40, message_rounds=3)
    for problem in training_steps(87, 60):
        best = best_reduced_plan(problem.instance, problem.memory_bytes)
        outcome = solve_kiwi_reduced(problem, SolveOptions(gap=0.0), params)
        if best is None:
            assert outcome.schedule is None
            continue
        assert outcome.schedule is not None
        assert outcome.schedule.replay(problem.instance).time_ns == best.time_ns
        assert all(bound.time_ns <= best.time_ns for bound in outcome.bounds)


def test_exact_after_messages_has_the_optimum_of_brute_force() -> None:
    params = replace(SHARDED, many_columns=1, passes=40, message_rounds=3, joint_rounds=1)
    for problem in training_steps(88, 25):
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        outcome = solve_sharded_exact(problem, SolveOptions(gap=0.0), params)
        if best is None:
            # What a labelling suggests may compute again after the last stage.
            if outcome.schedule is not None:
                replay = outcome.schedule.replay(problem.instance, problem.memory_bytes)
                assert replay.valid
                assert not ScheduleClass.STAGED.covers(replay.schedule_class)
            continue
        assert outcome.schedule is not None
        assert outcome.schedule.replay(problem.instance).time_ns <= best.time_ns
        assert all(bound.time_ns <= best.time_ns for bound in outcome.bounds)


def test_where_nothing_fits_bounds_stay_finite() -> None:
    problem = next(iter(training_steps(89, 1)))
    starved = RematSharding(problem.instance, problem.instance.least_peak_bound_bytes)
    smaller = replace(windowed_states(starved, (2,)).graph)
    smaller.capacity_bytes = [0 for _ in smaller.capacity_bytes]
    bound = StateBound(smaller, MESSAGES)
    for _ in range(5):
        bound.ascend(None, 400, NO_LIMIT)
        bound.prove(None)
    assert 0 <= bound.bound_ns < 2**60
    assert math.isfinite(bound.bound_ns)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("places", np.array([0], dtype=np.int32)),
        ("kinds", np.array([1, 1], dtype=np.int32)),
        ("cost", np.array([1, 2, 3], dtype=np.int64)),
        ("cost", np.array([1, -2], dtype=np.int64)),
        ("spans", np.array([[0, 0, 1, 0]], dtype=np.int32)),
        ("spans", np.array([[0, 0, 0, 1]], dtype=np.int32)),
        ("term_node", np.array([1], dtype=np.int32)),
        ("edges", np.array([[0, 1, 1, 1, 1, 1, 0]], dtype=np.int32)),
        ("edges", np.array([[0, 0, 1, 1, 1, 1]], dtype=np.int32)),
        ("capacity", np.array([-1], dtype=np.int64)),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(name: str, value: np.ndarray) -> None:
    graph = StateGraph()
    node = graph.add_node(2, 1, [3, 4])
    row = graph.add_row(5)
    assert (node, row) == (0, 0)
    arrays = {
        **graph.arrays(),
        "term_node": np.array([0], dtype=np.int32),
        "term_bytes": np.array([4, 6], dtype=np.int64),
        "spans": np.array([[0, 0, 0, 0]], dtype=np.int32),
        "mask_kinds": np.array([1], dtype=np.int32),
        "mask_bytes": np.array([1], dtype=np.uint8),
    }
    rules = {
        "first_passes": 1,
        "patience": 1,
        "shrink": 0.5,
        "step_after_removals": 0.5,
        "least_step": 0.1,
        "aim": 0.1,
        "sweeps": 1,
    }
    assert _kernels.MessageBound(**arrays, **rules).num_states() == 2
    with pytest.raises(ValueError, match=r"\w"):
        _kernels.MessageBound(**{**arrays, name: value}, **rules)


def test_strategies_of_computations_are_as_fast_after_messages() -> None:
    found = 0
    for problem in training_steps(90, 40):
        forward = [
            i
            for i, operator in enumerate(problem.instance.operators)
            if operator.role is Role.FORWARD
        ]
        for computations in (
            range(len(problem.instance)),
            recomputing(problem.instance, frozenset(forward)),
        ):
            options = SolveOptions(gap=0.0)
            with_messages = replace(FIXED, columns_for_messages=1, passes=40)
            one, other = (
                strategies_of_computations(problem, computations, options, NO_LIMIT, params).plan
                for params in (FIXED, with_messages)
            )
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                times = [plan.replay(problem.instance).time_ns for plan in (one, other)]
                assert times[0] == times[1]
                assert other.replay(problem.instance, problem.memory_bytes).valid
                found += 1
    assert found > 20
