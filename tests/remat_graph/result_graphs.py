"""Random tiny graphs whose operators have several results."""

from __future__ import annotations

import random

from jettison.instances.remat_graph.graph import Graph, Node


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
        nodes += [
            Node(
                name=f"o{operator}.{place}",
                duration_ns=0,
                output_bytes=size,
                inputs=(f"o{operator}",),
                backward=backward,
                keep=draw.random() < 0.1,
                result_of=f"o{operator}",
            )
            for place, size in enumerate(sizes)
        ]
    return Graph(f"results {seed}", tuple(nodes))
