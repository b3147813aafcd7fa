"""The checker's model of windows has the optimum of the one that the bounds are found with."""

from __future__ import annotations

import random

import pytest

from jettison.certificates.models.windowed_frontier import windowed_frontier
from jettison.formulations.windowed_frontier import WindowedFrontier
from jettison.instances.graph import Graph, Node
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass
from tests.certificates.as_arrays import as_arrays, optimum


def drawn_problem(chance: random.Random) -> RematGraph:
    """Draw a graph of some nodes, and a memory in which some recomputation is needed."""
    count = chance.randint(4, 9)
    nodes = []
    for position in range(count):
        read = {position - 1} if position and chance.random() < 0.8 else set()
        read |= {chance.randrange(position) for _ in range(2) if position}
        nodes.append(
            Node(
                name=f"node {position}",
                duration_ns=chance.randint(0, 9),
                output_bytes=chance.randint(0, 9),
                inputs=tuple(f"node {source}" for source in sorted(read)),
                workspace_bytes=chance.choice((0, 0, 3)),
                keep=chance.random() < 0.15,
            )
        )
    graph = Graph("drawn", tuple(nodes))
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    return RematGraph(graph, chance.randint(max(0, least - 1), max(least, most)))


@pytest.mark.parametrize("seed", range(150))
def test_both_models_of_windows_have_the_same_optimum(seed: int) -> None:
    chance = random.Random(seed)
    problem = drawn_problem(chance)
    count = len(problem.instance)
    cuts = set(chance.sample(range(count), chance.randint(1, 3)))
    slots: set[tuple[int, int]] = set()
    staged = chance.random() < 0.5
    if staged:
        for _ in range(chance.randint(0, 3)):
            t = chance.randrange(1, count)
            slots.add((t, chance.randrange(t)))
            cuts |= {t - 1, t}
    frontier = WindowedFrontier(
        tuple(sorted(cuts)),
        tuple(sorted(slots)),
        ScheduleClass.STAGED if staged else ScheduleClass.IN_ORDER,
    )
    built = frontier.build(problem)
    expected = optimum(built.model)
    stated = windowed_frontier(
        problem.instance.to_json(),
        {"memory_bytes": problem.memory_bytes},
        {"cuts": sorted(cuts), "slots": [list(slot) for slot in sorted(slots)], "staged": staged},
    )
    assert stated.valid_for == frontier.valid_for
    found = optimum(as_arrays(stated.model))
    assert stated.model.time_offset_ns == problem.instance.base_time_ns
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert round(found) == built.time_scale.from_model(expected)
