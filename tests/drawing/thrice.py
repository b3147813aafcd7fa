"""A step in which a value must be computed three times, which no class of few computations has."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node


def _node(name: str, duration_ns: int, output_bytes: int, *inputs: str) -> Node:
    return Node(
        name=name,
        duration_ns=duration_ns,
        output_bytes=output_bytes,
        inputs=inputs,
        backward=name.startswith("b"),
    )


# In 12 bytes f0, which is saved for three readers, must be computed three times: saved beside f3
# and its reader, it is one byte too many, and recomputed once it stays while b1 needs f1.
STEP = Graph(
    "thrice",
    (
        _node("f0", 4, 1),
        _node("f1", 3, 8, "f0"),
        _node("f2", 3, 3, "f0"),
        _node("f3", 3, 9, "f2"),
        _node("b3", 5, 1, "f3"),
        _node("b2", 3, 1, "b3", "f2"),
        _node("b1", 1, 3, "b2", "f1"),
        _node("b0", 3, 2, "b1", "f0"),
    ),
)
