"""Saved calls of checkpointed regions: what happens in a step, and which of them are best."""

from __future__ import annotations

import pytest

from jettison import InputError, RematGraph
from jettison.instances.remat_graph.checkpoint_regions import (
    CheckpointRegion,
    CheckpointRegions,
    OperatorCall,
)
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.remat_graph.saved_calls_schedule import saved_calls_schedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve
from jettison.solvers.remat_graph.policies.best_saved_calls import (
    NoSavedCalls,
    SavedCalls,
    best_saved_calls,
)
from tests.remat_graph.oracles.saved_calls_by_sets import fastest_saved_calls
from tests.remat_graph.policies.region_steps import region_step

OPTIONS = SolveOptions(time_limit_s=20)


def small_step() -> CheckpointRegions:
    """Return a region of two calls, 10 ns and 4 bytes, 3 ns and 2 bytes, and its backward pass."""
    graph = Graph(
        "small",
        (
            Node(name="a", duration_ns=10, output_bytes=4),
            Node(name="b", duration_ns=3, output_bytes=2, inputs=("a",)),
            Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
            Node(name="d", duration_ns=5, output_bytes=3, inputs=("a", "b", "c"), backward=True),
            Node(name="e", duration_ns=0, output_bytes=1, inputs=("d",), backward=True, keep=True),
        ),
    )
    calls = (
        OperatorCall(operator="aten.mm.default", nodes=(0,), may_be_saved=True),
        OperatorCall(operator="aten.relu.default", nodes=(1,), may_be_saved=True),
        OperatorCall(operator="aten.sum.default", nodes=(2,), may_be_saved=True),
    )
    steps = [(True, 0), (True, 1), (False, 0), (True, 2), (False, 1), (True, 0), (True, 1)]
    steps += [(True, 3), (False, 0), (False, 1), (False, 2), (True, 4), (False, 3)]
    return CheckpointRegions(graph, (CheckpointRegion("block", calls),), tuple(steps))


def test_a_saved_call_is_kept_and_does_not_run_again() -> None:
    step = small_step()
    plain = saved_calls_schedule(step, frozenset()).replay(step.graph)
    # a, b, c, a and b again, d, e.
    assert (plain.valid, plain.time_ns) == (True, 10 + 3 + 1 + 10 + 3 + 5)
    saved = saved_calls_schedule(step, {(0, 0)}).replay(step.graph)
    assert (saved.valid, saved.time_ns) == (True, 10 + 3 + 1 + 3 + 5)
    # The largest moment is the same, d with a, b and c: 4 + 2 + 1 + 3.
    assert plain.peak_bytes == saved.peak_bytes == 10


def test_a_call_that_does_not_run_again_cannot_be_saved() -> None:
    with pytest.raises(InputError, match="call 2 of region 0 cannot be saved"):
        saved_calls_schedule(small_step(), {(0, 2)})


def test_a_draw_that_is_saved_may_not_come_before_one_that_runs_again() -> None:
    step = small_step()
    calls = tuple(
        OperatorCall(operator=call.operator, nodes=call.nodes, may_be_saved=True, is_random=True)
        for call in step.regions[0].calls
    )
    random = CheckpointRegions(step.graph, (CheckpointRegion("block", calls),), step.steps)
    with pytest.raises(InputError, match="would draw other numbers"):
        saved_calls_schedule(random, {(0, 0)})
    assert saved_calls_schedule(random, {(0, 1)}).replay(step.graph).valid


def test_a_node_of_two_calls_is_refused() -> None:
    step = small_step()
    call = step.regions[0].calls[0]
    twice = (CheckpointRegion("a", (call,)), CheckpointRegion("b", (call,)))
    with pytest.raises(InputError, match="node 0 is unknown or of two calls"):
        CheckpointRegions(step.graph, twice, step.steps)


def test_the_best_saved_calls_are_those_of_the_brute_force() -> None:
    answers = 0
    for seed in range(60):
        step = region_step(seed)
        low = saved_calls_schedule(step, frozenset()).replay(step.graph).peak_bytes
        for memory_bytes in range(low - 3, low + 12, 3):
            best = best_saved_calls(step, memory_bytes, OPTIONS)
            least = fastest_saved_calls(step, memory_bytes)
            where = f"seed {seed}, {memory_bytes} bytes"
            if least is None:
                assert isinstance(best, NoSavedCalls), where
                assert (best.is_proved, best.enough_bytes) == (True, low), where
                continue
            assert isinstance(best, SavedCalls), where
            assert best.replay.valid, where
            assert best.replay.peak_bytes <= memory_bytes, where
            assert best.class_bound_ns == best.replay.time_ns == least, where
            answers += bool(best.saved)
    assert answers > 100


def test_no_saved_calls_are_faster_than_the_bound_of_all_schedules() -> None:
    for seed in range(6):
        step = region_step(seed)
        low = saved_calls_schedule(step, frozenset()).replay(step.graph).peak_bytes
        best = best_saved_calls(step, low + 4, OPTIONS)
        assert isinstance(best, SavedCalls)
        problem = RematGraph(step.graph, low + 4)
        bounds = [*solve(problem, "cut-bound").bounds, *solve(problem, "any-order-bound").bounds]
        covering = [item for item in bounds if item.valid_for.covers(best.replay.schedule_class)]
        assert all(item.time_ns <= best.replay.time_ns for item in covering)
        assert covering


def test_many_alike_layers_are_solved_to_the_optimum() -> None:
    step = region_step(7, regions=12, calls=8)
    low = saved_calls_schedule(step, frozenset()).replay(step.graph).peak_bytes
    best = best_saved_calls(step, low + 60, OPTIONS)
    assert isinstance(best, SavedCalls)
    assert best.class_bound_ns == best.replay.time_ns
