"""Graphs for tests: drawn by Hypothesis, and random ones of a seed."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from tests.drawing.amounts import AMOUNTS

_TIMES = st.integers(0, 9)
_SIZES = st.integers(1, 9)
_RARELY = st.sampled_from((False, False, False, True))
_OFTEN = st.sampled_from((True, True, True, False))


@st.composite
def graphs(draw: st.DrawFn, *, min_nodes: int = 1, max_nodes: int = 5) -> Graph:
    """Draw a graph of any shape, in which any node may be kept and any value may go unread."""
    nodes: list[Node] = []
    for position in range(draw(st.integers(min_nodes, max_nodes))):
        earlier = [node.name for node in nodes]
        read = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        nodes.append(
            Node(
                name=f"node {position}",
                duration_ns=draw(AMOUNTS),
                output_bytes=draw(AMOUNTS),
                inputs=tuple(read),
                workspace_bytes=draw(AMOUNTS),
                keep=draw(st.booleans()),
            )
        )
    return Graph(name="drawn", nodes=tuple(nodes))


@st.composite
def tight_remat_graphs(draw: st.DrawFn, *, max_nodes: int = 6) -> RematGraph:
    """Draw a graph and a memory between what one operation needs and what the whole step does.

    Drawn blindly, few graphs leave room between the two. These look like a training step: each
    node reads the one before it, most of the time, some read another from further back, and the
    last one reads the first.
    """
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


def random_graph(
    chance: random.Random, count: int, *, least: int = 0, first_backward: int | None = None
) -> Graph:
    """Draw a graph that looks like a training step, of times and sizes from `least` to 9.

    Most nodes read the one before, half of them another one, and the last one reads the first.
    """
    nodes: list[Node] = []
    for position in range(count):
        read = {position - 1} if position and chance.random() < 0.7 else set()
        if position > 1 and chance.random() < 0.5:
            read.add(chance.randrange(position - 1))
        if position and position == count - 1:
            read.add(0)
        nodes.append(
            Node(
                name=f"{position}",
                duration_ns=chance.randint(least, 9),
                output_bytes=chance.randint(least, 9),
                inputs=tuple(f"{source}" for source in sorted(read)),
                workspace_bytes=chance.choice((0, 0, 0, chance.randint(1, 9))),
                backward=first_backward is not None and position >= first_backward,
                keep=chance.random() < 0.1,
            )
        )
    return Graph("drawn", tuple(nodes))


def tight(chance: random.Random, count: int) -> RematGraph:
    """Draw a graph, and a memory in which its order needs recomputation, or more than that."""
    while True:
        graph = random_graph(chance, count, least=1)
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes - 1
        if least <= most:
            return RematGraph(graph, chance.randint(least, most))
