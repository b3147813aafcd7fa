"""Policy of names for ``jax.checkpoint``, of a graph or of a plan for it."""

from __future__ import annotations

from collections.abc import Collection

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.framework_policy import (
    Policy,
    PolicyBound,
    PolicyTarget,
    policy_of_replay,
)
from jettison.schedules.remat_graph.lazy_schedule import lazy_schedule, operators_again
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_graph.value_names import NamedValues
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.policies.best_saved_values import NoSavedValues
from jettison.solvers.remat_graph.policies.once_again_policy import bound_of_all
from jettison.solvers.remat_graph.saved_sets.offload_search import OffloadedSetSearch
from jettison.solvers.remat_graph.saved_sets.search import SavedSetSearch


def named_values_policy(
    problem: RematGraph,
    options: SolveOptions,
    plan: GraphSchedule | None = None,
    link: Link | None = None,
) -> Policy | NoSavedValues:
    """Return the policy of a graph in JAX: the best that is found, or that of a plan.

    Parameters
    ----------
    problem
        The graph of a step in JAX, whose forward nodes have the names of their values
        (`jettison.schedules.remat_graph.value_names`), and the memory.
    options
        As for a method.
    plan
        A schedule of the graph, to be told to JAX as it is.
    link
        The link to the host, to which values may move; not with a plan.

    Raises
    ------
    InputError
        If the graph is no training step, or the plan does what no policy can say, or its policy
        exceeds the memory.
    """
    graph = problem.instance
    values = NamedValues.of(graph)
    if link is not None:
        return _with_a_link(problem, options, values, link)
    search = SavedSetSearch(graph, problem.memory_bytes, values.names.keys(), values.always)
    starts = [] if plan is None else [_saved_by_plan(graph, plan, values)]
    found = search.run(starts, options.time_limit_s)
    if plan is not None:
        schedule = lazy_schedule(graph, frozenset(_forward(graph)).difference(*starts))
        replay = schedule.replay(graph, problem.memory_bytes)
        _check_plan(graph, plan, schedule, replay, problem.memory_bytes)
    elif found is None:
        return NoSavedValues(is_proved=search.is_refuted, enough_bytes=search.least_peak_bytes)
    else:
        schedule, replay = found.schedule, found.replay
    return policy_of_replay(
        PolicyTarget.JAX,
        graph,
        problem.memory_bytes,
        replay,
        (
            PolicyBound(
                min(search.bound_ns, replay.time_ns),
                str(PolicyTarget.JAX.policy_class),
                str(Evidence.SOLVER),
            ),
            bound_of_all(problem, options),
        ),
        is_settled=search.is_finished or replay.time_ns <= search.bound_ns,
        decisions=_decisions(graph, schedule, values),
    )


def _with_a_link(
    problem: RematGraph, options: SolveOptions, values: NamedValues, link: Link
) -> Policy | NoSavedValues:
    graph = problem.instance
    search = OffloadedSetSearch(
        graph,
        problem.memory_bytes,
        link,
        values.names.keys(),
        never_again=values.always,
        never_moved=values.always,
    )
    found = search.run((), options.time_limit_s)
    if found is None:
        return NoSavedValues(is_proved=search.is_refuted, enough_bytes=search.least_peak_bytes)
    plan, replay = found.plan, found.replay
    again = frozenset(_forward(graph)) - plan.saved - plan.offloaded
    bound = PolicyBound(
        found.bound_ns,
        f"{PolicyTarget.JAX.policy_class}, or on the host by transfers at {link} beside first "
        "computations, which do not wait",
        str(Evidence.SOLVER),
    )
    return Policy(
        target=PolicyTarget.JAX,
        instance=graph.name,
        instance_sha256=graph.sha256,
        memory_bytes=problem.memory_bytes,
        time_ns=replay.time_ns,
        peak_bytes=replay.peak_bytes,
        base_time_ns=graph.base_time_ns,
        bounds=(bound,),
        decisions=_decisions(graph, lazy_schedule(graph, again), values),
        offloaded=frozenset(
            name for place in plan.offloaded for name in values.names.get(place, ())
        ),
        is_settled=search.is_finished or replay.time_ns <= found.bound_ns,
    )


def _forward(graph: Graph) -> list[int]:
    return [place for place, node in enumerate(graph.nodes) if not node.backward]


def _decisions(graph: Graph, schedule: GraphSchedule, values: NamedValues) -> dict[str, bool]:
    """Return whether each name that the backward pass needs is computed again."""
    again = operators_again(graph, schedule.computations)
    behind = schedule.computations[len(_forward(graph)) :]
    read = {source for node in behind for source in graph.inputs[node]}
    found = {
        name: place in again
        for place, names in values.names.items()
        if place in again or place in read
        for name in names
    }
    if not found:
        raise InputError(
            "the backward pass reads no forward value that has a name",
            field="instance",
            expected="give the graph of a training step",
        )
    return found


def _saved_by_plan(graph: Graph, plan: GraphSchedule, values: NamedValues) -> Collection[int]:
    """Return the forward nodes that a plan computes once, if JAX can be told so."""
    replay = plan.replay(graph)
    if not replay.valid:
        raise InputError(
            str(replay.violations[0]),
            field="plan",
            expected="give a schedule that the replay accepts for this graph",
        )
    if not ScheduleClass.SAVED_OR_ONCE.covers(replay.schedule_class):
        raise InputError(
            f"it is of the class {replay.schedule_class}: a policy lets forward operations run "
            "again once, in the backward pass, before their values are read there",
            field="plan",
            expected="give a plan of the method saved-or-once, or leave --plan out for the best "
            "policy",
        )
    again = operators_again(graph, plan.computations)
    for place in sorted(again & values.always):
        raise InputError(
            f"{graph.nodes[place].name} is computed again, and JAX saves it in any case",
            field="plan",
            expected="leave --plan out for the best policy",
        )
    return frozenset(_forward(graph)) - again


def _check_plan(
    graph: Graph, plan: GraphSchedule, said: GraphSchedule, replay: Replay, memory_bytes: int
) -> None:
    lost = operators_again(graph, plan.computations) ^ operators_again(graph, said.computations)
    if lost:
        raise InputError(
            f"{graph.nodes[min(lost)].name} is computed again in one of the plan and the policy, "
            "and not in the other: it has no name, or nothing needs it",
            field="plan",
            expected="leave --plan out for the best policy",
        )
    if not replay.valid:
        raise InputError(
            f"the step needs {replay.peak_bytes} bytes where recomputation is as late as "
            f"the policy makes it, of {memory_bytes}",
            field="plan",
            expected="give more memory, or leave --plan out for the best policy",
        )
