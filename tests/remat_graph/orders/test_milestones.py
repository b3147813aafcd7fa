"""Milestones: what precedence says of them is what all topological orders say."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from jettison.formulations.remat_graph.any_order.milestones import Milestone, Precedence
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph, Node


def drawn(chance: random.Random, count: int) -> Graph:
    return Graph(
        "drawn",
        tuple(
            Node(
                name=f"{i}",
                duration_ns=1,
                output_bytes=1,
                inputs=tuple(f"{j}" for j in range(i) if chance.random() < 0.35),
            )
            for i in range(count)
        ),
    )


def orders_of(graph: Graph) -> list[tuple[int, ...]]:
    return [
        order
        for order in permutations(range(len(graph)))
        if all(order.index(p) < order.index(i) for i in order for p in graph.inputs[i])
    ]


def moment(order: tuple[int, ...], milestone: Milestone) -> int:
    """Return the place of the last node of a milestone in an order."""
    places = sorted(order.index(node) for node in milestone.nodes)
    return places[milestone.count - 1]


def drawn_milestone(chance: random.Random, count: int) -> Milestone:
    nodes = frozenset(chance.sample(range(count), chance.randint(1, count)))
    return Milestone(nodes, chance.randint(1, len(nodes)))


def test_the_sets_are_those_of_all_topological_orders() -> None:
    chance = random.Random(3)
    for _ in range(60):
        graph = drawn(chance, 5)
        precedence = Precedence(graph)
        orders = orders_of(graph)
        milestone = drawn_milestone(chance, 5)
        done = [set(order[: moment(order, milestone) + 1]) for order in orders]
        assert precedence.certain(milestone) == set.intersection(*done)
        assert precedence.possible(milestone) == set.union(*done)
        assert precedence.last(milestone) == {order[moment(order, milestone)] for order in orders}


def test_a_milestone_is_before_another_in_all_orders_and_one_node_is_enough_to_know() -> None:
    chance = random.Random(4)
    known = 0
    for _ in range(600):
        graph = drawn(chance, 5)
        first, second = drawn_milestone(chance, 5), drawn_milestone(chance, 5)
        said = Precedence(graph).is_before(first, second)
        true = all(moment(order, first) < moment(order, second) for order in orders_of(graph))
        known += said
        assert true or not said
        if min(len(first.nodes), len(second.nodes)) == 1:
            assert said == true
    assert known > 20


@pytest.mark.parametrize(("nodes", "count"), [((0, 1), 3), ((0, 1), 0), ((), 0), ((-1,), 1)])
def test_a_milestone_that_no_schedule_passes_is_refused(nodes: tuple[int, ...], count: int) -> None:
    with pytest.raises(InputError):
        Milestone(frozenset(nodes), count)
