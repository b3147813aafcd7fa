"""Random rounding of R and S together: what it counts is what the program's rows say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from jettison import RematGraph
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.linear_network import linear_network
from jettison.solvers.core.status import SolverError
from jettison.solvers.remat_graph.baselines.naive_rounding import (
    _violated,
    count_naive_roundings,
)
from tests.tiny import LADDER, SKIP


@pytest.mark.parametrize("seed", range(5))
def test_violated_rows_are_those_of_the_program(seed: int) -> None:
    graph, draw = LADDER, random.Random(seed)
    count = len(graph)
    model = from_pulp(Checkmate().build(RematGraph(graph, 100)).problem).model
    R = np.zeros((1, count, count), dtype=bool)  # noqa: N806
    S = np.zeros((1, count + 1, count), dtype=bool)  # noqa: N806
    for t in range(count):
        for i in range(t):
            R[0, t, i], S[0, t, i] = draw.random() < 0.5, draw.random() < 0.5
        R[0, t, t] = True
    for i, node in enumerate(graph.nodes):
        S[0, count, i] = node.keep
    values = np.zeros(len(model.column_names))
    for place, name in enumerate(model.column_names):
        kind, *indices = name.split("_")
        if kind in {"R", "S"}:
            values[place] = (R if kind == "R" else S)[0, int(indices[0]), int(indices[1])]
    expected = 0
    for place, name in enumerate(model.row_names):
        if name.startswith(("dependency_", "checkpoint_")):
            entries = slice(model.indptr[place], model.indptr[place + 1])
            activity = model.data[entries] @ values[model.indices[entries]]
            expected += not model.row_lower[place] <= activity <= model.row_upper[place]
    assert _violated(graph.inputs, R, S).tolist() == [expected]


def test_where_everything_fits_roundings_that_are_schedules_fit() -> None:
    found = count_naive_roundings(RematGraph(SKIP, 8), 20, 0)
    assert found.draws == 20
    assert found.fitting == found.valid


def test_few_roundings_of_a_fractional_relaxation_are_schedules_and_fewer_fit() -> None:
    problem = RematGraph(linear_network(), 4)
    found = count_naive_roundings(problem, 2500, 0)
    assert found == count_naive_roundings(problem, 2500, 0)
    assert found.fractional > 0
    assert (found.valid, found.fitting) == (0, 0)
    assert found.fewest_violated > 0
    graph = LayeredGraphs(nodes=20, passes=Passes.TRAINING).draw(3)
    layered = count_naive_roundings(RematGraph(graph, "85%"), 1000, 0)
    assert layered.fitting < layered.valid < layered.draws


def test_a_memory_without_a_solution_is_named() -> None:
    with pytest.raises(SolverError, match="no solution"):
        count_naive_roundings(RematGraph(SKIP, 6), 1, 0)
