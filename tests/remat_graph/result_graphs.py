"""Random tiny graphs whose operators have several results, with a value of their own or without."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from jettison.instances.remat_graph.graph import Graph, Node, OperatorResult


def graph_with_results(seed: int, most_operators: int = 5) -> Graph:
    """Return a graph of operators, some with one to three results beside their own value."""
    draw = random.Random(seed)
    nodes: list[Node] = []
    for operator in range(draw.randint(2, most_operators)):
        sources = draw.sample(range(len(nodes)), min(len(nodes), draw.randint(0, 3)))
        sizes = [draw.randint(0, 4) for _ in range(draw.choice([0, 0, 1, 2, 3]))]
        backward = operator >= most_operators // 2
        nodes.append(
            Node(
                name=f"o{operator}",
                duration_ns=draw.randint(0, 9),
                # The value of an operator holds what is taken from it.
                output_bytes=sum(sizes) + draw.randint(0, 4),
                inputs=tuple(nodes[source].name for source in sorted(sources)),
                workspace_bytes=draw.choice([0, 0, 2]),
                backward=backward,
                keep=not sizes and draw.random() < 0.2,
            )
        )
        nodes += results(nodes[-1], sizes, draw, share_kept=0.1)
    return Graph(f"results {seed}", tuple(nodes))


def graph_of_runs(seed: int, most_operators: int = 5) -> Graph:
    """Return a graph in which some operators have one to three results, each of its own life."""
    draw = random.Random(seed)
    nodes: list[Node] = []
    values: list[str] = []
    for operator in range(draw.randint(2, most_operators)):
        # What is read late is worth computing again.
        sources = draw.sample(values[: 1 + len(values) // 2], min(1, len(values)))
        sources += draw.sample(values, min(len(values), draw.randint(0, 2)))
        sizes = [draw.randint(0, 4) for _ in range(draw.choice([0, 1, 2, 2, 3]))]
        name = f"o{operator}"
        made = tuple(
            OperatorResult(name=f"{name}.{place}", output_bytes=size, keep=draw.random() < 0.2)
            for place, size in enumerate(sizes)
        )
        nodes.append(
            Node(
                name=name,
                duration_ns=draw.randint(0, 9),
                output_bytes=0 if made else draw.randint(0, 4),
                inputs=tuple(source for source in values if source in sources),
                workspace_bytes=draw.choice([0, 0, 2]),
                backward=operator >= most_operators // 2,
                keep=not made and draw.random() < 0.2,
                results=made,
            )
        )
        values += [result.name for result in made] or [name]
    return Graph(f"runs {seed}", tuple(nodes))


def some_computed_once(graph: Graph, draw: random.Random, share: float = 0.3) -> Graph:
    """Return a graph in which a share of the operators is computed once."""
    nodes = [
        node if node.result_of is not None else replace(node, again=draw.random() >= share)
        for node in graph.nodes
    ]
    return replace(graph, nodes=tuple(nodes))


def results(
    operator: Node, sizes: Sequence[int], draw: random.Random, *, share_kept: float
) -> list[Node]:
    """Return the results of an operator, of which a share is kept."""
    return [
        Node(
            name=f"{operator.name}.{place}",
            duration_ns=0,
            output_bytes=size,
            inputs=(operator.name,),
            backward=operator.backward,
            keep=draw.random() < share_kept,
            result_of=operator.name,
        )
        for place, size in enumerate(sizes)
    ]
