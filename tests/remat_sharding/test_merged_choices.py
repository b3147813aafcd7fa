from __future__ import annotations

import random
from itertools import product

from jettison.instances.core.errors import InputError
from jettison.instances.generators.perceptron_program import perceptron_without_parameters
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.merged_choices import merged_choices
from jettison.instances.remat_sharding.operator import Operator, Role, Strategy
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph, Table
from jettison.instances.tensor_programs.device_mesh import v100_mesh
from jettison.instances.tensor_programs.shard_program import shard_program


def operator(name: str, *inputs: str, follows: str | None = None, base: int = 0) -> Operator:
    return Operator(
        name=name,
        role=Role.FORWARD,
        inputs=inputs,
        follows=follows,
        strategies=tuple(
            Strategy(name=f"s{place}", compute_ns=base + place, memory_bytes=1)
            for place in range(2)
        ),
    )


def test_a_reader_of_two_members_of_a_group_pays_for_each_of_them_once() -> None:
    a, b = operator("a"), operator("b", "a", follows="a", base=10)
    reader = operator("reader", "a", "b", base=100)
    graph = ShardedGraph(
        "g",
        (a, b, reader),
        (
            Resharding("a", "reader", ((0, 1000), (2000, 0))),
            Resharding("b", "reader", ((0, 30000), (40000, 0))),
        ),
    )
    merged = merged_choices(graph)
    assert merged.groups == ((0, 1), (2,))
    # a and b together: 0 + 10 and 1 + 11.
    assert merged.cost_ns == ((10, 12), (100, 101))
    # One table, in which each of the two stands once.
    assert merged.tables == {(0, 1): ((0, 31000), (42000, 0))}


def test_resharding_within_a_group_joins_its_costs_at_the_same_place() -> None:
    a, b = operator("a"), operator("b", "a", follows="a")
    graph = ShardedGraph("g", (a, b), (Resharding("a", "b", ((7, 99), (None, None))),))
    merged = merged_choices(graph)
    # 0 + 0 + 7, and the second place is forbidden by its pair; 99 is of two places.
    assert merged.cost_ns == ((7, None),)
    assert merged.tables == {}


def test_tables_in_both_directions_between_two_groups_are_one() -> None:
    a, b = operator("a"), operator("b", "a")
    c = operator("c", "b", follows="a")
    graph = ShardedGraph(
        "g",
        (a, b, c),
        (
            Resharding("a", "b", ((1, 2), (3, None))),
            # A row per strategy of b, which is the second group.
            Resharding("b", "c", ((10, 20), (30, 40))),
        ),
    )
    assert merged_choices(graph).tables == {(0, 1): ((11, 32), (23, None))}


def test_a_forbidden_strategy_of_a_follower_forbids_the_place_of_the_group() -> None:
    a = operator("a")
    b = Operator(
        name="b",
        role=Role.FORWARD,
        follows="a",
        strategies=(
            Strategy(name="s0", compute_ns=None, memory_bytes=1),
            Strategy(name="s1", compute_ns=5, memory_bytes=1),
        ),
    )
    assert merged_choices(ShardedGraph("g", (a, b))).cost_ns == ((None, 6),)


def sampled(seed: int) -> ShardedGraph:
    """Draw five operators with two strategies, followers, and tables with forbidden pairs."""
    draw = random.Random(seed)
    operators: list[Operator] = []
    for position in range(5):
        before = [item.name for item in operators]
        inputs = draw.sample(before, draw.randint(0, len(before)))
        follows = draw.choice([None, *before]) if before else None
        operators.append(
            operator(f"v{position}", *inputs, follows=follows, base=draw.randint(0, 9))
        )

    def table() -> Table:
        cells = [draw.choice([None, 0, draw.randint(1, 99)]) for _ in range(3)]
        return ((draw.randint(0, 99), cells[0]), (cells[1], cells[2]))

    tables = [
        Resharding(name, item.name, table())
        for item in operators
        for name in item.inputs
        if draw.random() < 0.8
    ]
    return ShardedGraph("g", tuple(operators), tuple(tables))


def test_a_merged_plan_takes_what_the_graph_of_its_strategies_takes() -> None:
    for seed in range(200):
        graph = sampled(seed)
        merged = merged_choices(graph)
        for places in product(range(2), repeat=len(merged.groups)):
            strategies = merged.strategies(places)
            try:
                expected = sum(
                    node.duration_ns for node in with_strategies(graph, strategies).nodes
                )
            except InputError:
                expected = None
            assert merged.time_ns(places) == expected, (seed, places)


def test_the_square_of_a_value_is_resharded_once_when_merged() -> None:
    # The square reads the difference twice and follows it: the group pays for the square's time.
    graph = shard_program(perceptron_without_parameters(2, 8, 8), v100_mesh((4,)), "g")
    merged = merged_choices(graph)
    places = tuple(
        next(k for k, cost in enumerate(costs) if cost is not None) for costs in merged.cost_ns
    )
    strategies = merged.strategies(places)
    nodes = with_strategies(graph, strategies).nodes
    assert merged.time_ns(places) == sum(node.duration_ns for node in nodes)
