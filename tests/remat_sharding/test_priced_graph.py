"""Prices of what may not be computed again."""

from __future__ import annotations

from jettison.instances.remat_sharding.operator import Operator, Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.solvers.remat_sharding.exact.priced_graph import priced_graph
from tests.remat_sharding.tiny_sharded import TWO_LAYERS, strategies_of


def test_parameters_and_inputs_take_longer_than_some_steps() -> None:
    priced = priced_graph(TWO_LAYERS, TWO_LAYERS.fastest, 8)
    # The step takes 25 ns; x, w1 and w2 take 8 times that and nothing before.
    assert [node.duration_ns for node in priced.graph.nodes[:3]] == [200, 200, 200]
    assert priced.extra_ns == 600
    assert priced.graph.base_time_ns == 625


def test_the_longest_steps_that_are_allowed_have_a_price_as_well() -> None:
    longest_ns = 2**52
    operators = tuple(
        Operator(
            name=f"o{place}",
            role=Role.PARAMETER if place < 4 else Role.FORWARD,
            strategies=strategies_of((0 if place < 4 else longest_ns, 0, 1)),
        )
        for place in range(8)
    )
    priced = priced_graph(ShardedGraph("long", operators), (0,) * 8, 8)
    assert priced.graph.base_time_ns * 8 < 2**60
    assert all(node.duration_ns > longest_ns for node in priced.graph.nodes[:4])
