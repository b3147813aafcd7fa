"""Graphs on which another order of first computations is better than the one given."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node

# In 1 byte: p must go while q runs, and r reads it. In order it is computed again: 4 ns in place of
# 3. If q runs first, or last, nothing is.
THREE = Graph(
    "three",
    (
        Node(name="p", duration_ns=1, output_bytes=1),
        Node(name="q", duration_ns=1, output_bytes=1),
        Node(name="r", duration_ns=1, output_bytes=0, inputs=("p",)),
    ),
)

# The value of a stays to the end. In 2 bytes b, which takes both, runs before or after all of that.
TWO = Graph(
    "two",
    (
        Node(name="a", duration_ns=1, output_bytes=1, keep=True),
        Node(name="b", duration_ns=1, output_bytes=2),
    ),
)

# One result, s, needs all others. In 2 bytes p and q leave no room for r: q is computed again.
ONE_RESULT = Graph(
    "one result",
    (
        Node(name="p", duration_ns=1, output_bytes=1),
        Node(name="q", duration_ns=1, output_bytes=1),
        Node(name="r", duration_ns=1, output_bytes=1, inputs=("p",)),
        Node(name="s", duration_ns=1, output_bytes=0, inputs=("q", "r")),
    ),
)


def interleaved(users: int) -> Graph:
    """Return a graph that computes q once, and in its own order once more for every user.

    Before each of them stands a node that takes all of 2 bytes, and that could run first.
    """
    nodes = [Node(name="q", duration_ns=100, output_bytes=1)]
    for number in range(users):
        nodes.append(Node(name=f"b{number}", duration_ns=1, output_bytes=2))
        nodes.append(Node(name=f"u{number}", duration_ns=1, output_bytes=0, inputs=("q",)))
    return Graph(f"interleaved {users}", tuple(nodes))
