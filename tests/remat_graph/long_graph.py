"""A graph on which relaxations spread a recomputation thinly over the stages."""

from __future__ import annotations

import random

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph


def long_problem() -> RematGraph:
    """Return sixteen nodes that read the one before and another one, in 60 % of their peak."""
    generator = random.Random(32)
    nodes = [
        Node(
            name=f"{i}",
            duration_ns=generator.randint(1, 9),
            output_bytes=generator.randint(1, 9),
            inputs=tuple({f"{i - 1}", f"{generator.randrange(i)}"}) if i else (),
        )
        for i in range(16)
    ]
    return RematGraph(Graph("long", tuple(nodes)), "60%")
