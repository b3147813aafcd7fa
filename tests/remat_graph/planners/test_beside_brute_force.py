"""Planners on steps of at most nine operations, between the optima that brute force finds."""

from __future__ import annotations

import random

import pytest

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from tests.drawing.named_steps import OPERATORS
from tests.remat_graph.oracles.brute_force import (
    least_in_order_time_ns,
    least_staged_time_ns,
    least_time_ns,
)
from tests.remat_graph.oracles.saved_or_once_by_choices import least_saved_or_once_time_ns

OPTIONS = SolveOptions(time_limit_s=None)
METHODS = (
    "saved-or-once",
    "restricted",
    "torch-min-cut-dp",
    "torch-min-cut-greedy",
    "xla-greedy",
    "selective-products",
    "selective-blocks",
    "selective-attention",
)


def drawn(chance: random.Random) -> Graph:
    """Draw a step with results that nothing reads, kept values anywhere, and nodes for nothing."""
    forward = chance.randint(1, 4)
    nodes: list[Node] = []
    for place in range(forward + chance.randint(1, 8 - forward)):
        read = set(chance.sample(range(place), min(place, chance.choice((0, 1, 1, 2, 2, 3)))))
        if place and chance.random() < 0.6:
            read.add(place - 1)
        nodes.append(
            Node(
                name=f"v{place}",
                duration_ns=chance.choice((0, 1, chance.randint(0, 9))),
                output_bytes=chance.choice((0, 1, chance.randint(1, 9))),
                inputs=tuple(f"v{source}" for source in sorted(read)),
                workspace_bytes=chance.choice((0, 0, chance.randint(0, 5))),
                backward=place >= forward,
                keep=chance.random() < 0.25,
                operator_name=chance.choice(OPERATORS),
            )
        )
    return Graph("drawn", tuple(nodes))


@pytest.mark.parametrize("part", range(3))
def test_no_planner_is_faster_than_its_class_and_no_bound_is_above_it(part: int) -> None:
    found = 0
    for seed in range(100 * part, 100 * part + 6):
        chance = random.Random(seed)
        graph = drawn(chance)
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        memory_bytes = chance.randint(max(0, min(least, most) - 1), most)
        optima = {
            ScheduleClass.ALL: least_time_ns(graph, memory_bytes),
            ScheduleClass.IN_ORDER: least_in_order_time_ns(graph, memory_bytes),
            ScheduleClass.STAGED: least_staged_time_ns(graph, memory_bytes),
            ScheduleClass.SAVED_OR_ONCE: least_saved_or_once_time_ns(graph, memory_bytes),
        }
        for method in METHODS:
            case = (seed, method)
            result = solve_with(RematGraph(graph, memory_bytes), method, OPTIONS)
            proof = result.infeasibility
            for valid_for, optimum_ns in optima.items():
                if proof is not None and proof.valid_for.covers(valid_for):
                    assert optimum_ns is None, case
                for bound in result.bounds:
                    if bound.valid_for.covers(valid_for) and optimum_ns is not None:
                        assert bound.time_ns <= optimum_ns, case
            if method == "saved-or-once":
                assert result.time_ns == optima[ScheduleClass.SAVED_OR_ONCE], case
            if result.replay is None or result.time_ns is None:
                continue
            found += 1
            assert result.replay.peak_bytes <= memory_bytes, case
            for valid_for, optimum_ns in optima.items():
                if valid_for.covers(result.replay.schedule_class):
                    assert optimum_ns is not None, case
                    assert optimum_ns <= result.time_ns, case
    assert found
