"""Temporary memory of a step whose results have buffers of their own."""

from __future__ import annotations

import random

import pytest

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.remat_graph.schedule import GraphSchedule

pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

from jettison.jax.result_buffers import temporary_peak_bytes

pytestmark = pytest.mark.jax


def step(*nodes: tuple[str, int, tuple[str, ...]]) -> Graph:
    """Return a graph of names, bytes and operands; what nothing reads is a result."""
    read = {source for _, _, inputs in nodes for source in inputs}
    return Graph(
        "step",
        tuple(
            Node(name=name, duration_ns=1, output_bytes=size, inputs=inputs, keep=name not in read)
            for name, size, inputs in nodes
        ),
    )


CHAIN = step(
    ("a", 80, ()), ("b", 100, ("a",)), ("c", 80, ("b",)), ("late", 0, ("c",)), ("end", 0, ("late",))
)
LATE, END = 3, 4


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        # a and b, then b and c are there at once.
        ({}, 180),
        # b is put there, being the largest that fits: a and c are left, one after the other.
        ({END: (100,)}, 80),
        # b does not fit; a and c do, and are not there at once.
        ({END: (80,)}, 100),
        # The result is written while c is read, so that a alone has been there before.
        ({LATE: (80,)}, 180),
        ({LATE: (80,), END: (100,)}, 80),
        # The smallest buffer that a value fits into is tried first.
        ({END: (100, 80)}, 0),
        ({END: (79,)}, 180),
    ],
)
def test_values_lie_where_a_result_is_written_later(
    results: dict[int, tuple[int, ...]], expected: int
) -> None:
    assert temporary_peak_bytes(CHAIN, range(5), results) == expected


def test_a_value_that_is_computed_again_may_lie_elsewhere_and_kernels_allocate_there_too() -> None:
    nodes = (
        Node(name="a", duration_ns=1, output_bytes=10),
        Node(name="b", duration_ns=1, output_bytes=10, inputs=("a",), workspace_bytes=30),
        Node(name="c", duration_ns=1, output_bytes=0, inputs=("a", "b"), keep=True),
    )
    graph = Graph("again", nodes)
    assert temporary_peak_bytes(graph, (0, 1, 0, 2), {}) == 50
    assert temporary_peak_bytes(graph, (0, 1, 0, 2), {2: (30,)}) == 20
    assert temporary_peak_bytes(graph, (0, 1, 0, 2), {2: (10,)}) == 40


def test_without_results_it_is_the_peak_of_the_replay_and_never_less_than_that_without_them() -> (
    None
):
    draw = random.Random(5)
    for _ in range(60):
        count = draw.randint(3, 9)
        names = [f"n{place}" for place in range(count)]
        nodes = []
        for place, name in enumerate(names):
            known = names[:place]
            inputs = draw.sample(known, min(len(known), draw.randint(0, 3)))
            nodes.append((name, draw.randint(0, 9), tuple(inputs)))
        graph = step(*nodes)
        # The replay keeps results to the end; here they have no bytes in the graph.
        graph = Graph(
            "step",
            tuple(
                Node(
                    name=node.name,
                    duration_ns=1,
                    output_bytes=0 if node.keep else node.output_bytes,
                    inputs=node.inputs,
                    workspace_bytes=draw.randint(0, 4),
                    keep=node.keep,
                )
                for node in graph.nodes
            ),
        )
        order = range(count)
        peak = GraphSchedule.from_computations(graph, order).replay(graph).peak_bytes
        assert temporary_peak_bytes(graph, order, {}) == peak
        results = {
            place: (draw.randint(1, 9),) for place, node in enumerate(graph.nodes) if node.keep
        }
        found = temporary_peak_bytes(graph, order, results)
        room = sum(size for sizes in results.values() for size in sizes)
        assert peak - room <= found <= peak
