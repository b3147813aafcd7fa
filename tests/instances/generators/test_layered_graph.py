"""Random layered graphs: what they look like, and that a seed means the same everywhere."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from jettison import Graph, InputError
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from tests.each import each

FORWARD, TRAINING = Passes.FORWARD, Passes.TRAINING


def test_a_seed_gives_the_same_bytes_on_any_machine() -> None:
    # Written down once: a change of these hashes needs another GENERATOR_VERSION.
    assert (
        LayeredGraphs(nodes=100).draw(7).sha256
        == "8547360403a2df72f677393e774c697c1c6bd02593d1d4180fe0d8104ccea2cd"
    )
    assert (
        LayeredGraphs(nodes=60, passes=TRAINING).draw(7).sha256
        == "9bc19cfd3d16ea4838fe42a8a40b38a9b71d884aed5fb1c45ffa2b6aa731cf5b"
    )


def test_seeds_differ() -> None:
    graphs = LayeredGraphs(nodes=30)
    assert graphs.draw(1) == graphs.draw(1)
    assert graphs.draw(1) != graphs.draw(2)


@pytest.mark.parametrize("nodes", [4, 5, 17, 100])
@each(seed=range(5))
def test_there_is_one_source_and_one_sink(nodes: int, seed: int) -> None:
    graph = LayeredGraphs(nodes=nodes).draw(seed)
    assert len(graph) == nodes
    assert [position for position, inputs in enumerate(graph.inputs) if not inputs] == [0]
    assert [position for position, users in enumerate(graph.users) if not users] == [nodes - 1]


def test_the_defaults_have_the_statistics_of_the_published_graphs() -> None:
    # random_layered_n250: 944 edges, mean duration 502, mean size 2043, median 1730. Ten graphs
    # have 2500 nodes: the standard errors are 6 ns and 30 bytes.
    graphs = [LayeredGraphs(nodes=250, layers=22).draw(seed) for seed in range(10)]
    nodes = [node for graph in graphs for node in graph.nodes]
    edges = statistics.mean(sum(map(len, graph.inputs)) for graph in graphs)
    assert 850 < edges < 1000
    assert 480 < statistics.mean(node.duration_ns for node in nodes) < 520
    sizes = [node.output_bytes for node in nodes]
    assert 1950 < statistics.mean(sizes) < 2150
    assert 1620 < statistics.median(sizes) < 1840


def test_the_share_of_skips_is_the_one_asked_for() -> None:
    # The same draws come first: what is more are the skips, a fifth of all edges.
    plain = _edges(LayeredGraphs(nodes=200, skip_percent=0).draw(3))
    assert _edges(LayeredGraphs(nodes=200, skip_percent=20).draw(3)) == plain + plain * 20 // 80


def test_the_backward_graph_mirrors_the_forward_one() -> None:
    graph = LayeredGraphs(nodes=40, passes=TRAINING).draw(5)
    forward, backward = graph.nodes[:20], graph.nodes[20:]
    assert not any(node.backward for node in forward)
    assert all(node.backward for node in backward)
    for node, mirrored in zip(forward, reversed(backward), strict=True):
        assert mirrored.name == f"{node.name}_backward"
        assert mirrored.duration_ns == 2 * node.duration_ns
        assert mirrored.output_bytes == node.output_bytes
        users = {f"{user.name}_backward" for user in forward if node.name in user.inputs}
        assert set(mirrored.inputs) == {node.name, *node.inputs} | users


def test_a_small_graph_ends_without_all_the_skips_it_should_have() -> None:
    # Source, two nodes in one layer, sink: the only skip is from source to sink.
    graph = LayeredGraphs(nodes=4, layers=1, skip_percent=50).draw(0)
    assert _edges(graph) <= 5


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"nodes": 3}, "nodes"),
        ({"nodes": 9, "passes": TRAINING}, "nodes"),
        ({"nodes": 6, "passes": TRAINING}, "nodes"),
        ({"nodes": 10, "layers": 9}, "layers"),
        ({"nodes": 10, "density_percent": 101}, "density_percent"),
        ({"nodes": 10, "skip_percent": 51}, "skip_percent"),
        ({"nodes": 10, "least_ns": 6, "most_ns": 5}, "least_ns"),
        ({"nodes": 10, "most_ns": -1}, "most_ns"),
        ({"nodes": 10, "size_bytes": -1}, "size_bytes"),
    ],
)
def test_parameters_out_of_range_are_named(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        LayeredGraphs(**changed)
    assert caught.value.field == field


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_named(seed: int) -> None:
    with pytest.raises(InputError, match="seed"):
        LayeredGraphs(nodes=10).draw(seed)


def _edges(graph: Graph) -> int:
    return sum(map(len, graph.inputs))
