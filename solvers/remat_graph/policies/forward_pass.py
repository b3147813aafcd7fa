"""Graph of a step in which all that the loss does not need is marked as backward."""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph


def with_late_operators(graph: Graph) -> Graph:
    """Return a graph as partitioners see it: forward is what the forward pass has to compute.

    That is what a kept forward node needs (the loss, new values of buffers). An operator that needs
    no gradient and that only the backward pass reads (the derivative of an activation) may run in
    it; it becomes a backward node, in the place before its first reader. Names stay.

    Raises
    ------
    InputError
        If no node has the mark of the backward pass, or no forward node is kept.
    """
    if not any(node.backward for node in graph.nodes):
        raise InputError(
            "no node has the mark of the backward pass",
            field="instance",
            expected="give the graph of a training step, as `jettison profile --kind graph` makes",
        )
    needed: set[int] = set()
    stack = [
        position
        for position, node in enumerate(graph.nodes)
        if node.keep and not graph.nodes[graph.operators[position]].backward
    ]
    if not stack:
        raise InputError(
            "no forward node is kept",
            field="instance",
            expected="mark the loss with keep: the forward pass ends with it",
        )
    while stack:
        position = stack.pop()
        if position not in needed:
            needed.add(position)
            stack += [*graph.inputs[position], graph.operators[position]]
    runs = {
        operator: range(operator, after.stop) for operator, after in graph.results_after.items()
    }
    # Results follow their operator wherever it goes.
    forward = {graph.operators[position] for position in needed}
    order: list[int] = []
    placed: set[int] = set()

    def place(operator: int) -> None:
        stack = [operator]
        while stack:
            before = [
                graph.operators[source]
                for source in graph.inputs[stack[-1]]
                if graph.operators[source] not in placed and graph.operators[source] != stack[-1]
            ]
            if before:
                stack.append(before[0])
                continue
            last = stack.pop()
            if last not in placed:
                placed.add(last)
                order.extend(runs.get(last, (last, *_taken_from(graph, last))))

    operators = [node for node in range(len(graph)) if graph.operators[node] == node]
    marked = [node for node in operators if graph.nodes[node].backward]
    for operator in (*(node for node in operators if node in forward), *marked, *operators):
        place(operator)
    late = {node for node in range(len(graph)) if graph.operators[node] not in forward}
    return Graph(
        graph.name,
        tuple(
            replace(graph.nodes[node], backward=True) if node in late else graph.nodes[node]
            for node in order
        ),
        provenance=graph.provenance,
    )


def _taken_from(graph: Graph, operator: int) -> list[int]:
    """Return the results that are taken from an operator with a value of its own."""
    return [user for user in graph.users[operator] if graph.operators[user] == operator]
