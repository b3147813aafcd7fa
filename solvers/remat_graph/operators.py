"""Treatment of operators without a value by methods that know graphs of plain values only.

Where an operator makes its results and nothing else (`Node.has_value`), they come directly after it
in every schedule. A method that does not know that rule runs on another graph:

* Without the rule each valid schedule is still one, so a graph of *plain values*, where the rule is
  left out, has bounds that hold for the given graph.
* In the graph of *held values* the operator has a value that holds all of its results, of which
  they are copies. A schedule of it becomes one of the given graph, in the same time and no more
  memory: each computation of the operator is followed by the results that are taken from it before
  it runs again, and these are in memory only while the value, which is at least as large, or the
  copy was. Copies take memory, so that a better schedule may exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination

P = ParamSpec("P")
Solve = Callable[Concatenate[RematGraph, SolveOptions, P], Outcome]


def on_held_values(solve: Solve[P]) -> Solve[P]:
    """Let a heuristic run on the graph of held values where operators have no value.

    It begins from no start and tells nobody of schedules on the way: they are of another graph. Of
    its outcome the schedule counts, and the note.
    """

    @wraps(solve)
    def solve_held(
        problem: RematGraph, options: SolveOptions, /, *args: P.args, **kwargs: P.kwargs
    ) -> Outcome:
        graph = problem.instance
        if not graph.results_after:
            return solve(problem, options, *args, **kwargs)
        if problem.memory_bytes >= graph.store_all_peak_bytes:
            schedule = GraphSchedule.from_computations(graph, range(len(graph)))
            return Outcome(termination=Termination.COMPLETED, schedule=schedule)
        held = RematGraph(held_values(graph), problem.memory_bytes)
        outcome = solve(held, options.quiet(), *args, **kwargs)
        if not isinstance(outcome.schedule, GraphSchedule):
            note = outcome.note or (
                "no schedule was found in which values of several results are held whole; that "
                "does not prove that there is none"
            )
            return replace(outcome, schedule=None, bounds=(), infeasibility=None, note=note)
        schedule = from_held_values(graph, outcome.schedule.computations)
        return replace(outcome, schedule=schedule, bounds=(), infeasibility=None)

    return solve_held


def on_plain_values(bound: Solve[P]) -> Solve[P]:
    """Let a method that only bounds run on the graph of plain values, whose bounds are valid."""

    @wraps(bound)
    def bound_plain(
        problem: RematGraph, options: SolveOptions, /, *args: P.args, **kwargs: P.kwargs
    ) -> Outcome:
        graph = problem.instance
        if not graph.results_after:
            return bound(problem, options, *args, **kwargs)
        plain = RematGraph(plain_values(graph), problem.memory_bytes)
        outcome = bound(plain, options.quiet(), *args, **kwargs)
        proof = outcome.infeasibility
        if proof is not None:
            # The least memory of the given graph may be larger.
            proof = replace(proof, is_exact=False)
        return replace(outcome, schedule=None, infeasibility=proof)

    return bound_plain


def plain_values(graph: Graph) -> Graph:
    """Return the graph without the rule that results come directly after their operators."""
    return replace(graph, nodes=tuple(replace(node, has_value=True) for node in graph.nodes))


def held_values(graph: Graph) -> Graph:
    """Return the graph in which operators without a value have one that holds their results."""
    nodes = list(plain_values(graph).nodes)
    for operator, results in graph.results_after.items():
        held_bytes = sum(graph.nodes[result].output_bytes for result in results)
        nodes[operator] = replace(
            nodes[operator],
            output_bytes=held_bytes,
            workspace_bytes=nodes[operator].workspace_bytes - held_bytes,
        )
    return replace(graph, nodes=tuple(nodes))


def from_held_values(graph: Graph, computations: Sequence[int]) -> GraphSchedule:
    """Return the schedule of a graph for computations of its graph of held values."""
    runs: list[list[int]] = []
    run_of: dict[int, list[int]] = {}
    for node in computations:
        operator = graph.operators[node]
        if operator != node and operator in graph.results_after:
            run = run_of[operator]
            if node not in run:
                run.append(node)
            continue
        run_of[node] = [node]
        runs.append(run_of[node])
    return GraphSchedule.from_computations(graph, [node for run in runs for node in sorted(run)])
