"""Minimum cuts beside all cuts, and the parts of a graph."""

from __future__ import annotations

import random
from itertools import product

from jettison.solvers.remat_graph.planners.minimum_cut import FlowNetwork, connected_parts

LARGE = 2**40


def test_it_is_the_least_cut_next_to_the_sink() -> None:
    chance = random.Random(1)
    for case in range(200):
        count = chance.randint(2, 7)
        arcs = [
            (tail, head, chance.choice((0, 1, 2, 5, LARGE)))
            for tail in range(count)
            for head in range(count)
            if tail != head and chance.random() < 0.5
        ]
        network = FlowNetwork(count)
        for arc in arcs:
            network.add_arc(*arc)
        cuts = [_sink_side(sides) for sides in product((False, True), repeat=count - 2)]
        least = min(_value(arcs, side) for side in cuts)
        # The sides of least cuts are closed under intersection: the smallest is in all of them.
        expected = frozenset.intersection(*(s for s in cuts if _value(arcs, s) == least))
        assert network.sink_side() == expected, case


def test_amounts_beyond_32_bits_are_not_cut_off() -> None:
    network = FlowNetwork(3)
    network.add_arc(network.SOURCE, 2, LARGE)
    network.add_arc(2, network.SINK, LARGE + 1)
    # The first arc is the least, though modulo 2^32 it is 0 and the second is 1.
    assert network.sink_side() == {network.SINK, 2}


def test_parts_ascend_and_hold_what_is_connected() -> None:
    assert connected_parts([4, 2, 0, 1], {0: [4], 4: [0], 1: [], 2: []}) == [(0, 4), (1,), (2,)]


def _sink_side(sides: tuple[bool, ...]) -> frozenset[int]:
    inner = {place for place, is_behind in enumerate(sides, start=2) if is_behind}
    return frozenset({FlowNetwork.SINK, *inner})


def _value(arcs: list[tuple[int, int, int]], side: frozenset[int]) -> int:
    return sum(amount for tail, head, amount in arcs if tail not in side and head in side)
