"""Policy that lets forward operators run once more, of a graph or of a plan for it."""

from __future__ import annotations

from collections import Counter

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.framework_policy import (
    Policy,
    PolicyBound,
    PolicyTarget,
    policy_of_replay,
)
from jettison.schedules.remat_graph.lazy_schedule import is_late, lazy_schedule, operators_again
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Bound, largest_bound
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve
from jettison.solvers.remat_graph.policies.best_saved_values import (
    NoSavedValues,
    SavedValues,
    best_saved_values,
    candidates,
)
from jettison.solvers.remat_graph.policies.forward_pass import with_late_operators
from jettison.solvers.remat_graph.policies.random_operators import draws_by_name

# Share of the time limit for the bound of all schedules.
_FOR_ALL = 0.2


def once_again_policy(
    problem: RematGraph,
    target: PolicyTarget,
    options: SolveOptions,
    plan: GraphSchedule | None = None,
) -> Policy | NoSavedValues:
    """Return the policy of a graph: the best that is found, or that of a plan.

    Operators that draw random numbers do not run again: what replays their numbers differs from
    one target to the next.

    Parameters
    ----------
    problem
        A traced step with its backward marks, and the memory.
    target
        What follows the policy.
    options
        As for a method.
    plan
        A schedule of the graph, to be told to the target as it is.

    Raises
    ------
    InputError
        If the graph is no training step, or the plan does what no policy can say, or its policy
        exceeds the memory.
    """
    given = problem.instance
    graph = with_late_operators(given)
    inner = RematGraph(graph, problem.memory_bytes)
    free = frozenset(node for node in candidates(graph) if not draws_by_name(graph.nodes[node]))
    if plan is None:
        found = best_saved_values(inner, options, allowed=free)
        if isinstance(found, NoSavedValues):
            return found
    else:
        again = _again_of_plan(given, graph, plan)
        found = SavedValues.of(inner, again, solve(inner, "saved-or-once", time_limit=5).bounds)
        if not found.replay.valid:
            raise InputError(
                f"the step needs {found.replay.peak_bytes} bytes where recomputation is as late as "
                f"the policy makes it, of {problem.memory_bytes}",
                field="plan",
                expected="give more memory, or leave --plan out for the best policy",
            )
    return policy_of_replay(
        target,
        given,
        problem.memory_bytes,
        found.replay,
        (*policy_bounds(found.bounds), bound_of_all(problem, options)),
        is_settled=found.is_settled,
        decisions={
            node.name: position in found.again or is_late(graph, position)
            for position, node in enumerate(graph.nodes)
            if graph.operators[position] == position
            and not given.nodes[given.position_of[node.name]].backward
        },
    )


def policy_bounds(bounds: tuple[Bound, ...]) -> tuple[PolicyBound, ...]:
    """Return the largest bound for each class, as a policy has them, without those of all."""
    found = []
    for kind in sorted({bound.valid_for for bound in bounds} - {ScheduleClass.ALL}):
        largest = largest_bound(bound for bound in bounds if bound.valid_for is kind)
        assert largest is not None
        found.append(PolicyBound(largest.time_ns, str(kind), str(largest.evidence)))
    return tuple(found)


def bound_of_all(problem: RematGraph, options: SolveOptions) -> PolicyBound:
    """Return the largest bound that is found for all schedules of a graph."""
    limit = None if options.time_limit_s is None else max(0.1, options.time_limit_s * _FOR_ALL)
    found = solve(problem, "any-order-bound", time_limit=limit).bounds
    largest = largest_bound(bound for bound in found if bound.valid_for is ScheduleClass.ALL)
    if largest is None:
        return PolicyBound(problem.base_time_ns, str(ScheduleClass.ALL), "exact arithmetic")
    return PolicyBound(largest.time_ns, str(ScheduleClass.ALL), str(largest.evidence))


def _again_of_plan(given: Graph, graph: Graph, plan: GraphSchedule) -> frozenset[int]:
    """Return what a plan runs again, if a policy can say it."""
    replay = plan.replay(given)
    if not replay.valid:
        raise InputError(
            str(replay.violations[0]),
            field="plan",
            expected="give a schedule that the replay accepts for this graph",
        )
    names = [given.nodes[node].name for node in plan.computations if given.operators[node] == node]
    for name, times in Counter(names).items():
        position = graph.position_of[name]
        if times > 2 or (times == 2 and is_late(graph, position)):
            raise InputError(
                f"{name} is computed {times} times, and a policy lets forward operators run again "
                "once, and no others",
                field="plan",
                expected="give a plan of the method saved-or-once, or leave --plan out for the "
                "best policy",
            )
        if times == 2 and draws_by_name(graph.nodes[position]):
            raise InputError(
                f"{name} draws random numbers and is computed again",
                field="plan",
                expected="leave --plan out: the best policy saves what draws",
            )
    again = operators_again(graph, [graph.position_of[name] for name in names])
    said = Counter(
        graph.nodes[node].name
        for node in lazy_schedule(graph, again).computations
        if graph.operators[node] == node
    )
    lost = Counter(names) - said
    if lost:
        raise InputError(
            f"{next(iter(lost))} is computed again where the backward pass does not need it",
            field="plan",
            expected="give a plan of the method saved-or-once, or leave --plan out for the best "
            "policy",
        )
    return again
