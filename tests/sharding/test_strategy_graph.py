from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jettison import InputError, Sharding, StrategyGraph, load, save
from jettison.instances.core.live_sets import maximal_live_times, usage_over_time
from jettison.sharding import StrategyEdge, StrategyNode
from tests.sharding.oracles.strategy_brute_force import random_graph

A = StrategyNode(name="a", interval=(0, 3), costs_ns=(4, 2, None), usages_bytes=(1, 6, 0))
B = StrategyNode(name="b", interval=(2, 5), costs_ns=(1, 1), usages_bytes=(3, 2))
AB = StrategyEdge(first="b", second="a", costs_ns=(5, None, 7, 9, 8, 6))
GRAPH = StrategyGraph("two", (A, B), (AB,), usage_limit_bytes=8)


def test_simple_bounds_and_peaks() -> None:
    # 2 + 1 and 5 on the edge; 6 + 2 on [2, 3) where each is cheapest; 1 + 2 is the least allowed.
    assert GRAPH.base_time_ns == 8
    assert GRAPH.cheapest_strategies == (1, 1)
    assert GRAPH.store_all_peak_bytes == 8
    assert GRAPH.least_peak_bound_bytes == 3
    assert GRAPH.cost_sum_ns == 4 + 1 + 9
    assert GRAPH.usage_sum_bytes == 9


def test_a_file_gives_the_graph_back(tmp_path: Path) -> None:
    huge = replace(A, costs_ns=(2**63 - 1, 10**18, None), usages_bytes=(2**62, 0, 1))
    for graph in (GRAPH, StrategyGraph("huge", (huge,)), random_graph(3)):
        save(graph, tmp_path / "graph.json")
        assert load(tmp_path / "graph.json") == graph
        found = load(tmp_path / "graph.json")
        assert found.sha256 == graph.sha256


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"costs_ns": (1.0, 2, None)}, r"costs_ns\[0\]: 1.0 is not an integer"),
        ({"costs_ns": (float("nan"), 2, None)}, r"costs_ns\[0\]: nan is not an integer"),
        ({"costs_ns": (1, -2, None)}, r"costs_ns\[1\]: -2 is negative"),
        ({"costs_ns": (1, True, None)}, r"costs_ns\[1\]: True is not an integer"),
        ({"costs_ns": (1, 2**63, None)}, r"costs_ns\[1\]: the value is too large"),
        ({"costs_ns": (1, 2)}, "3 usages and 2 costs"),
        ({"costs_ns": ()}, "'a' has no strategy"),
        ({"costs_ns": (None, None, None)}, "every strategy of 'a' is forbidden"),
        ({"usages_bytes": (1, None, 3)}, r"usages_bytes\[1\]: None is not an integer"),
        ({"interval": (3, 2)}, r"interval: \[3, 2\] ends before it begins"),
        ({"interval": (3,)}, "interval: 1 times"),
        ({"interval": (-1, 2)}, r"interval\[0\]: -1 is negative"),
        ({"name": ""}, "cannot be a name"),
    ],
)
def test_a_node_that_cannot_be_used_is_refused(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        replace(A, **change)


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        (StrategyEdge(first="a", second="c", costs_ns=(1,)), r"edges\[0\].second: 'c' is not a"),
        (StrategyEdge(first="a", second="b", costs_ns=(1,)), r"give 3 x 2 costs, for 'a' and 'b'"),
    ],
)
def test_an_edge_that_does_not_fit_is_refused(edge: StrategyEdge, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        StrategyGraph("wrong", (A, B), (edge,))


def test_the_last_edge_of_several_names_an_unknown_node() -> None:
    # Nodes a and b have 3 and 2 strategies, so that the first edge fits.
    first = StrategyEdge(first="a", second="b", costs_ns=(1,) * 6)
    second = StrategyEdge(first="b", second="c", costs_ns=(1,))
    with pytest.raises(InputError, match=r"edges\[1\].second: 'c' is not a node"):
        StrategyGraph("wrong", (A, B), (first, second))


def test_an_edge_of_a_node_with_itself_is_refused() -> None:
    with pytest.raises(InputError, match="add the costs of such an edge to those of the node"):
        StrategyEdge(first="a", second="a", costs_ns=(1,))


def test_graphs_have_nodes_of_different_names() -> None:
    with pytest.raises(InputError, match="the graph is empty"):
        StrategyGraph("none", ())
    with pytest.raises(InputError, match="is also the name of"):
        StrategyGraph("same", (A, A))


def test_errors_in_a_file_name_their_field(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    document = GRAPH.to_json()
    document["edges"][0]["costs_ns"][2] = 0.5  # type: ignore[index]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=r"graph.json: edges\[0\].costs_ns\[2\]: 0.5 is not an"):
        load(path)


def test_memory_is_an_amount_a_share_or_the_limit_of_the_instance() -> None:
    assert Sharding(GRAPH).memory_bytes == 8
    assert Sharding(GRAPH, 5).memory_bytes == 5
    assert Sharding(GRAPH, "1KiB").memory_bytes == 1024
    # Of 8 bytes where each node is cheapest; shares round down.
    assert Sharding(GRAPH, "60%").memory_bytes == 4
    with pytest.raises(InputError, match="has no limit of its own"):
        Sharding(replace(GRAPH, usage_limit_bytes=None))
    with pytest.raises(InputError, match="defined for chains only"):
        Sharding(GRAPH, "alpha=0.5")


def test_usage_adds_up_over_half_open_intervals() -> None:
    parts = [((0, 2), 3), ((2, 4), 3), ((1, 3), 4), ((5, 5), 9)]
    assert usage_over_time(parts) == [(0, 3), (1, 7), (3, 3), (4, 0)]


def test_maximal_live_times_hold_every_live_set() -> None:
    for seed in range(60):
        intervals = [node.interval for node in random_graph(seed).nodes]
        intervals += [node.interval for node in random_graph(seed + 1000).nodes]

        def live(time: int, intervals: list[tuple[int, int]] = intervals) -> frozenset[int]:
            return frozenset(i for i, (b, e) in enumerate(intervals) if b <= time < e)

        found = [live(time) for time in maximal_live_times(intervals)]
        every = {live(time) for time in range(15)} - {frozenset()}
        maximal = {one for one in every if not any(one < other for other in every)}
        assert len(found) == len(set(found))
        assert set(found) == maximal
