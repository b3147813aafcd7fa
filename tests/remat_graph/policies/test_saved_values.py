"""Operators that run again once in the backward pass: the schedule, and the best that fits."""

from __future__ import annotations

import pytest

from jettison import InputError, RematGraph
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.framework_policy import PolicyTarget
from jettison.schedules.remat_graph.lazy_schedule import lazy_schedule
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve
from jettison.solvers.remat_graph.policies.best_saved_values import (
    NoSavedValues,
    SavedValues,
    best_saved_values,
    candidates,
)
from jettison.solvers.remat_graph.policies.forward_pass import with_late_operators
from jettison.solvers.remat_graph.policies.once_again_policy import once_again_policy
from jettison.solvers.remat_graph.policies.random_operators import draws_by_name
from tests.remat_graph.oracles.run_again_by_sets import fastest_run_again
from tests.remat_graph.policies.joint_steps import joint_step

OPTIONS = SolveOptions(time_limit_s=20)


def chain_step() -> Graph:
    """Return a chain of three forward operators, with a backward one for each."""
    return Graph(
        "chain",
        (
            Node(name="a", duration_ns=1, output_bytes=4),
            Node(name="b", duration_ns=2, output_bytes=4, inputs=("a",)),
            Node(name="loss", duration_ns=3, output_bytes=1, inputs=("b",), keep=True),
            Node(name="slope", duration_ns=1, output_bytes=2, inputs=("b",)),
            Node(name="db", duration_ns=4, output_bytes=4, inputs=("slope", "loss"), backward=True),
            Node(
                name="da",
                duration_ns=5,
                output_bytes=4,
                inputs=("a", "db"),
                backward=True,
                keep=True,
            ),
        ),
    )


def test_operators_run_again_right_before_their_first_reader() -> None:
    graph = with_late_operators(chain_step())
    # What the loss does not need is of the backward pass.
    assert [node.name for node in graph.nodes if node.backward] == ["slope", "db", "da"]
    schedule = lazy_schedule(graph, {0, 1})
    names = [graph.nodes[node].name for node in schedule.computations]
    assert names == ["a", "b", "loss", "a", "b", "slope", "db", "da"]
    replay = schedule.replay(graph)
    assert (replay.valid, replay.time_ns) == (True, 16 + 1 + 2)
    assert replay.schedule_class is ScheduleClass.SAVED_OR_ONCE


def test_positions_of_results_and_of_backward_nodes_are_refused() -> None:
    graph = joint_step(3)
    late = next(place for place, node in enumerate(graph.nodes) if node.backward)
    with pytest.raises(InputError, match="not an operator of the forward pass"):
        lazy_schedule(graph, {late})


def test_the_best_sets_are_those_of_the_brute_force() -> None:
    optimal = total = 0
    for seed in range(10):
        graph = joint_step(seed)
        for less in (1, 3):
            problem = RematGraph(graph, graph.store_all_peak_bytes - less)
            least = fastest_run_again(graph, problem.memory_bytes)
            found = best_saved_values(problem, OPTIONS)
            where = f"seed {seed}, {less} bytes less"
            if least is None:
                assert isinstance(found, NoSavedValues), where
                continue
            assert isinstance(found, SavedValues), where
            assert found.replay.valid, where
            assert found.class_bound_ns <= least == found.replay.time_ns, where
            total += 1
            optimal += found.class_bound_ns == least
    assert total > 7
    assert optimal >= 0.95 * total


def tight_problem() -> RematGraph:
    """Return the first step of a seed in which something runs again in the memory."""
    for seed in range(20):
        graph = joint_step(seed, forward=6)
        problem = RematGraph(graph, graph.store_all_peak_bytes - 1)
        if fastest_run_again(graph, problem.memory_bytes) is not None:
            return problem
    raise AssertionError("no seed has a step with something to run again")


def test_what_may_not_run_again_does_not() -> None:
    problem = tight_problem()
    every = best_saved_values(problem, OPTIONS)
    assert isinstance(every, SavedValues)
    assert every.again
    fewer = best_saved_values(
        problem, OPTIONS, allowed=candidates(problem.instance) - {min(every.again)}
    )
    assert isinstance(fewer, NoSavedValues) or min(every.again) not in fewer.again


def test_a_policy_has_a_decision_for_each_operator_without_a_gradient() -> None:
    problem = RematGraph(chain_step(), "100%")
    policy = once_again_policy(problem, PolicyTarget.JOINT_GRAPH, OPTIONS)
    assert not isinstance(policy, NoSavedValues)
    # The slope is not needed by the loss, and so runs in the backward pass.
    assert policy.decisions == {"a": False, "b": False, "loss": False, "slope": True}
    assert (policy.time_ns, policy.base_time_ns, policy.overhead) == (16, 16, 0.0)
    assert {bound.valid_for for bound in policy.bounds} >= {"all schedules"}
    assert all(bound.time_ns <= policy.time_ns for bound in policy.bounds)


def test_a_plan_that_a_policy_can_say_is_exported_as_it_is() -> None:
    problem = tight_problem()
    graph = problem.instance
    plan = solve(problem, "saved-or-once").schedule
    assert isinstance(plan, GraphSchedule)
    policy = once_again_policy(problem, PolicyTarget.TORCHTITAN, OPTIONS, plan)
    assert not isinstance(policy, NoSavedValues)
    replay = plan.replay(graph)
    assert (policy.time_ns, policy.memory_bytes) == (replay.time_ns, problem.memory_bytes)


def test_a_plan_beyond_the_class_is_refused_with_the_first_operator() -> None:
    graph = chain_step()
    for order, message in (
        ([0, 1, 2, 0, 1, 3, 0, 4, 5], "a is computed 3 times"),
        ([0, 1, 2, 3, 4, 3, 4, 5], "slope is computed 2 times"),
    ):
        plan = GraphSchedule.from_computations(graph, order)
        with pytest.raises(InputError, match=message):
            once_again_policy(RematGraph(graph, "100%"), PolicyTarget.JOINT_GRAPH, OPTIONS, plan)


def test_a_graph_without_a_backward_pass_or_a_loss_is_refused() -> None:
    forward = Graph("forward", (Node(name="a", duration_ns=1, output_bytes=1),))
    with pytest.raises(InputError, match="no node has the mark of the backward pass"):
        once_again_policy(RematGraph(forward, "100%"), PolicyTarget.JOINT_GRAPH, OPTIONS)
    nodes = (
        Node(name="a", duration_ns=1, output_bytes=1),
        Node(name="b", duration_ns=1, output_bytes=1, inputs=("a",), backward=True, keep=True),
    )
    with pytest.raises(InputError, match="no forward node is kept"):
        once_again_policy(
            RematGraph(Graph("no-loss", nodes), "100%"), PolicyTarget.JOINT_GRAPH, OPTIONS
        )


@pytest.mark.parametrize(
    ("name", "operator", "draws"),
    [
        ("native_dropout_3.saved", None, True),
        ("rand_like", None, True),
        ("addmm_12", None, False),
        ("node_7", "aten.bernoulli_.float", True),
        ("dropout", "aten.mul.Tensor", False),
    ],
)
def test_operators_that_draw_are_known_by_name(
    name: str, operator: str | None, draws: bool
) -> None:
    node = Node(name=name, duration_ns=1, output_bytes=1, operator_name=operator)
    assert draws_by_name(node) is draws
