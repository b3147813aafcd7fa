"""The way from a schedule to a point of a windowed model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, RematGraph, ScheduleClass
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.drawing.graphs import graphs


def test_columns_say_what_is_stored_and_what_is_computed_again() -> None:
    # a is freed when b has read it, and computed again for d, beside c.
    nodes = (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
    )
    built = WindowedFrontier((1, 2)).build(RematGraph(Graph("skip", nodes), 9))
    point = built.point((0, 1, 2, 0, 3))
    ones = {name for name, value in zip(built.model.column_names, point, strict=True) if value == 1}
    # Z, which has a value in the relaxation only, is left to the solver.
    unknown = {
        name for name, value in zip(built.model.column_names, point, strict=True) if np.isnan(value)
    }
    assert ones == {"S_1_1", "R_2_0", "S_2_2"}
    assert unknown == {"Z_1_0", "Z_1_1"}


@settings(max_examples=150)
@given(graphs(max_nodes=6), st.data())
def test_a_schedule_that_fits_is_a_point_and_no_cheaper_than_it(
    graph: Graph, data: st.DataObject
) -> None:
    count = len(graph)
    # Any computations again, in ascending order in each stage, with the ancestors that they need.
    stages = [
        data.draw(st.sets(st.integers(0, stage - 1))) if stage else set() for stage in range(count)
    ]
    sequence = [node for stage, again in enumerate(stages) for node in (*sorted(again), stage)]
    schedule = GraphSchedule.from_computations(graph, sequence)
    replay = schedule.replay(graph)
    assert replay.schedule_class is ScheduleClass.STAGED
    cuts = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    slots = [(t, q) for t in cuts if t - 1 in cuts for q in range(t)]
    problem = RematGraph(graph, max(1, replay.peak_bytes))
    frontier = WindowedFrontier(tuple(cuts), tuple(slots), ScheduleClass.STAGED)
    built = frontier.build(problem)
    point = built.point(schedule.computations)
    known = ~np.isnan(point)
    fixed = replace(
        built.model,
        column_lower=np.where(known, point, built.model.column_lower),
        column_upper=np.where(known, point, built.model.column_upper),
    )
    objective = solve_model(fixed, HighsOptions(gap=0)).objective
    assert objective is not None
    again_ns = built.time_scale.from_model(objective)
    assert again_ns <= replay.time_ns - graph.base_time_ns
