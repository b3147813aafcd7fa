from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.schedules.sharding.strategy_choice import StrategyChoice


def test_the_same_seed_gives_the_same_graph_and_another_one_another() -> None:
    graphs = StrategyGraphs(nodes=30)
    assert graphs.draw(5) == graphs.draw(5)
    assert graphs.draw(5).sha256 != graphs.draw(6).sha256
    # A change of the bytes has to raise GENERATOR_VERSION.
    assert graphs.draw(5).sha256[:16] == "a47e498a86f1f39e"


def test_layout_0_is_a_choice_and_the_last_one_fits() -> None:
    for seed in range(10):
        graph = StrategyGraphs(nodes=40, variants=3, limit_percent=20).draw(seed)
        widest = StrategyChoice((0,) * len(graph)).replay(graph)
        assert widest.valid
        assert graph.usage_limit_bytes == widest.peak_bytes * 20 // 100
        # Strategy 9 is the first of layout 3, which uses an eighth.
        sharded = StrategyChoice((9,) * len(graph)).replay(graph, graph.usage_limit_bytes)
        assert sharded.valid


def test_followers_have_the_layout_of_another_node() -> None:
    graph = StrategyGraphs(nodes=10, follower_percent=100, variants=1, layouts=3).draw(0)
    for node in graph.nodes[1:]:
        assert set(node.costs_ns) == {0}
        (tie, *_) = [edge for edge in graph.edges if edge.second == node.name]
        assert tie.costs_ns == (0, None, None, None, 0, None, None, None, 0)


def test_extreme_parameters_make_graphs() -> None:
    assert len(StrategyGraphs(nodes=1, layouts=1, variants=1).draw(0).edges) == 0
    graph = StrategyGraphs(nodes=20, window=1, density_percent=90, most_ns=0, most_bytes=0).draw(1)
    assert len(graph.edges) == 19
    assert graph.usage_limit_bytes == 0


def test_parameters_out_of_range_are_named() -> None:
    with pytest.raises(InputError, match="layouts: 17; write 1 to 16"):
        StrategyGraphs(nodes=3, layouts=17)
    with pytest.raises(InputError, match="seed"):
        StrategyGraphs(nodes=3).draw(-1)
