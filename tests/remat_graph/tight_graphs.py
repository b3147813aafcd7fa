"""Hypothesis strategy for graphs in a memory where something must be recomputed, or nothing helps.

Drawn blindly, few graphs leave room between the need of one operation and the peak of the step
without recomputation. Those here look like a training step: each node reads the one before it,
most of the time, some read another from further back, and the last one reads the first.
"""

from __future__ import annotations

from hypothesis import strategies as st

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph

_TIMES = st.integers(0, 9)
_SIZES = st.integers(1, 9)
_RARELY = st.sampled_from((False, False, False, True))
_OFTEN = st.sampled_from((True, True, True, False))


@st.composite
def tight_remat_graphs(draw: st.DrawFn, *, max_nodes: int = 6) -> RematGraph:
    """Draw a graph and a memory between what one operation needs and what the whole step does."""
    count = draw(st.integers(3, max_nodes))
    kept = draw(st.integers(-count, count - 1))
    nodes: list[Node] = []
    for position in range(count):
        read = {position - 1} if position and draw(_OFTEN) else set()
        if position > 1 and draw(st.booleans()):
            read.add(draw(st.integers(0, position - 2)))
        if position == count - 1:
            read.add(0)
        nodes.append(
            Node(
                name=f"node {position}",
                duration_ns=draw(_TIMES),
                output_bytes=draw(_SIZES),
                inputs=tuple(f"node {source}" for source in sorted(read)),
                workspace_bytes=draw(_SIZES) if draw(_RARELY) else 0,
                keep=position == kept,
            )
        )
    graph = Graph(name="drawn", nodes=tuple(nodes))
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes - 1
    return RematGraph(graph, draw(st.integers(least, max(least, most))))
