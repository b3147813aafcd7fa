"""Schedule of a step that computes some forward operations a second time, in the backward pass."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.schedule import GraphSchedule


def lazy_schedule(
    graph: Graph, again: AbstractSet[int], early: AbstractSet[int] = frozenset()
) -> GraphSchedule:
    """Return the step in which these forward operators run once more, as late as they can.

    Parameters and errors are those of `lazy_computations`.
    """
    return GraphSchedule.from_computations(graph, lazy_computations(graph, again, early))


def lazy_computations(
    graph: Graph, again: AbstractSet[int], early: AbstractSet[int] = frozenset()
) -> list[int]:
    """Return the computations of that step, in order.

    The forward operators run first, in the order of the graph. Before a backward operator runs
    what it needs of `again` and what that needs, unless it has run in the backward pass already,
    in the order of the graph; from then on the value is there until its last reader. Everything
    else that the backward pass reads is saved. This is what PyTorch's partitioner makes of a set of
    saved values (``reordering_to_mimic_autograd_engine``), torchtitan's of the tags of a joint
    graph, and what a policy of names says in JAX. :math:`O(n + |E|)` beside the sorting.

    Parameters
    ----------
    graph
        The instance.
    again
        Positions of operators that run again where the backward pass needs them; of an operator
        with several results, that of the operator.
    early
        Backward operators that run in the forward pass, since they need no gradient.

    Raises
    ------
    InputError
        If a position is no forward operator, or one that is computed once.
    """
    once = sorted(again & graph.computed_once)
    if once:
        raise InputError(
            f"{graph.nodes[once[0]].name!r} is computed once in every schedule",
            field="again",
            expected="leave it out: its value is saved",
        )
    for node in sorted(again):
        if not 0 <= node < len(graph) or graph.operators[node] != node or is_late(graph, node):
            raise InputError(
                f"position {node} is not an operator of the forward pass",
                field="again",
                expected="give positions of forward nodes that are no results of others",
            )
    computations = [
        node
        for node in range(len(graph))
        if not is_late(graph, node) or graph.operators[node] in early
    ]
    first = set(computations)
    anew: set[int] = set()
    for node in range(len(graph)):
        if node in first or graph.operators[node] != node:
            continue
        computations += _runs(graph, sorted(_missing(graph, node, again, anew)))
        computations += _runs(graph, [node])
    return computations


def is_late(graph: Graph, node: int) -> bool:
    """Tell whether a node is of the backward pass, as its operator is."""
    return graph.nodes[graph.operators[node]].backward


def operators_again(graph: Graph, computations: Iterable[int]) -> frozenset[int]:
    """Return the forward operators that a sequence of computations runs more than once."""
    seen: set[int] = set()
    found: set[int] = set()
    for node in computations:
        if graph.operators[node] == node and not is_late(graph, node):
            if node in seen:
                found.add(node)
            seen.add(node)
    return frozenset(found)


def _missing(graph: Graph, node: int, again: AbstractSet[int], anew: set[int]) -> set[int]:
    """Return the operators that have to run before a node does, and note that they have run."""
    found: set[int] = set()
    stack = [node]
    while stack:
        for source in graph.inputs[stack.pop()]:
            operator = graph.operators[source]
            if operator in again and operator not in anew:
                anew.add(operator)
                found.add(operator)
                stack.append(operator)
    return found


def _runs(graph: Graph, operators: list[int]) -> list[int]:
    """Return operators, each followed by its results."""
    found: list[int] = []
    for operator in operators:
        found.append(operator)
        found += graph.results_after.get(operator, range(0))
        found += _selections(graph, operator)
    return found


def _selections(graph: Graph, operator: int) -> list[int]:
    """Return the results that are taken from an operator with a value of its own."""
    if not graph.nodes[operator].has_value:
        return []
    return [user for user in graph.users[operator] if graph.operators[user] == operator]
