"""The checker's model of windows has the optimum of the one that the bounds are found with.

And what is certified of it is that optimum.
"""

from __future__ import annotations

import random

import pytest

from jettison import RematGraph, ScheduleClass
from jettison.certificates.remat_graph.windowed_frontier import windowed_frontier
from jettison.core import CertificateError
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.certify import certify
from jettison.solvers.proof.statement import Statement
from tests.certificates.as_arrays import as_arrays, optimum
from tests.drawing.graphs import random_graph
from tests.each import each
from tests.remat_graph.order_graphs import THREE
from tests.remat_graph.result_graphs import graph_of_runs, some_computed_once


def drawn_problem(chance: random.Random) -> RematGraph:
    """Draw a graph of some nodes, and a memory in which some recomputation is needed.

    One in three has operators with several results, and one in two some that are computed once.
    """
    graph = random_graph(chance, chance.randint(4, 9))
    if chance.random() < 0.3:
        graph = graph_of_runs(chance.randrange(10_000))
    if chance.random() < 0.5:
        graph = some_computed_once(graph, chance)
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    return RematGraph(graph, chance.randint(max(0, least - 1), max(least, most)))


@each(seed=range(150))
def test_both_models_of_windows_have_the_same_optimum_and_it_is_certified(seed: int) -> None:
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
    statement = Statement(
        problem="remat-graph",
        instance=problem.instance.to_json(),
        resources={"memory_bytes": problem.memory_bytes},
        formulation={
            "name": "windowed-frontier",
            "version": 1,
            "cuts": sorted(cuts),
            "slots": [list(slot) for slot in sorted(slots)],
            "staged": staged,
        },
    )
    stated = statement.model()
    assert stated.valid_for == frontier.valid_for
    base_ns = problem.instance.base_time_ns
    assert stated.model.time_offset_ns == base_ns
    found = optimum(as_arrays(stated.model))
    if expected is None:
        assert found is None
        certificate = certify(statement, None, Clock(None))
        assert certificate is not None
        assert certificate.time_ns is None
        return
    assert found is not None
    assert round(found) == built.time_scale.from_model(expected)
    # What is asked for is a nanosecond too much: what is left is the optimum.
    certificate = certify(statement, base_ns + round(found) + 1, Clock(None))
    assert certificate is not None
    assert certificate.time_ns == base_ns + round(found)
    assert certify(statement, None, Clock(None)) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cuts": []}, "at least one"),
        ({"cuts": [1, 0]}, "ascending"),
        ({"cuts": [0, 0]}, "ascending"),
        ({"cuts": [0, True]}, "cuts names True"),
        ({"cuts": [0, 1.0]}, "cuts names 1.0"),
        ({"cuts": [9]}, "cuts names 9"),
        ({"cuts": [1, 2], "slots": [[2, 2]]}, "not between two cuts"),
        ({"cuts": [0, 2], "slots": [[2, 1]]}, "not between two cuts"),
        ({"cuts": [1, 2], "slots": [[2, 0], [2, 1], [2, 0]]}, "a slot stands twice"),
        ({"cuts": [1, 2], "slots": [[2]]}, "a slot is a pair"),
        ({"cuts": [0], "staged": 1}, "neither true nor false"),
    ],
)
def test_what_are_no_cuts_and_slots_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(CertificateError, match=said):
        windowed_frontier(THREE.to_json(), {"memory_bytes": 1}, options)
