"""The models of cuts and slots: relaxations that hold, and with all slots the staged optimum."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, InputError, RematGraph, ScheduleClass
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.formulations.remat_graph.windows.needed_sets import needed_sets
from jettison.formulations.remat_graph.windows.presets import Frontier, Residency
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.drawing.graphs import graphs, tight_remat_graphs
from tests.remat_graph.long_graph import long_problem
from tests.remat_graph.oracles.brute_force import least_in_order_time_ns, least_staged_time_ns

STAGED = ScheduleClass.STAGED
EXACT = HighsOptions(gap=0, feasibility_tolerance=1e-9)
# a and b have users beyond the cut at c; 3, 4, 1 and 1 bytes.
SKIP = Graph(
    "skip",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",), workspace_bytes=1),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",), workspace_bytes=2),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
    ),
)
# The value of a must be there at the end, but nothing between a and the end reads it.
KEPT = Graph(
    "kept",
    (
        Node(name="a", duration_ns=2, output_bytes=5, keep=True),
        Node(name="b", duration_ns=1, output_bytes=1),
        Node(name="c", duration_ns=1, output_bytes=8, inputs=("b",)),
    ),
)


def time_ns(built: WindowedModel) -> int | None:
    """Return the base time and the optimum, or None if the model has no point."""
    objective = solve_model(built.model, EXACT).objective
    if objective is None:
        return None
    return built.graph.base_time_ns + built.time_scale.from_model(objective)


def is_at_most(bound_ns: int | None, time_ns: int | None) -> bool:
    """Compare times, of which None is the largest."""
    return time_ns is None or (bound_ns is not None and bound_ns <= time_ns)


@st.composite
def any_graphs(draw: st.DrawFn) -> RematGraph:
    """Draw a graph of any shape and a memory that may be too small."""
    graph = draw(graphs(max_nodes=5))
    peak = graph.store_all_peak_bytes
    return RematGraph(graph, draw(st.integers(peak // 2, peak)))


PROBLEMS = st.one_of(tight_remat_graphs(max_nodes=6), any_graphs())


def test_the_rows_are_those_of_the_docstring() -> None:
    # Cut c: d reads a and c later, and a was read by b. c runs beside b with its workspace.
    model = WindowedFrontier((2,)).build(RematGraph(SKIP, 9)).model
    assert model.column_names == ("R_2_0", "R_2_1", "R_2_2", "S_2_0", "S_2_1", "S_2_2")
    assert model.row_names == ("need_2_0", "need_2_2", "again_2_1_0", "again_2_2_1", "memory_2")
    assert model.objective.tolist() == [2, 1, 1, 0, 0, 0]
    # c, its workspace and its input b take 1 + 2 + 4 of 9 bytes.
    assert model.row_upper.tolist()[-1] == 2
    assert model.data.tolist()[-1] == 3


def test_the_row_stay_ties_the_windows() -> None:
    model = WindowedFrontier((1, 2)).build(RematGraph(SKIP, 9)).model
    place = model.row_names.index("stay_2_0")
    columns = model.indices[model.indptr[place] : model.indptr[place + 1]]
    assert [model.column_names[column] for column in columns] == ["R_1_0", "S_1_0", "S_2_0"]
    assert "stay_2_2" not in model.row_names


def test_a_node_that_nothing_needs_later_has_no_column() -> None:
    assert needed_sets(SKIP, (2,)) == [{0, 1, 2}]
    assert needed_sets(SKIP, (0, 2)) == [{0}, {0, 1, 2}]
    assert needed_sets(SKIP, (3,)) == [set()]
    assert WindowedFrontier((0, 2)).num_columns(SKIP) == 8


def test_workspace_counts_in_the_row_of_its_node() -> None:
    # 3 + 4 + 1 + 2 bytes hold a beside c, b and the workspace of c.
    assert time_ns(WindowedFrontier((2,)).build(RematGraph(SKIP, 10))) == 5
    assert time_ns(WindowedFrontier((2,)).build(RematGraph(SKIP, 9))) == 7


def test_a_kept_value_is_stored_or_computed_after_the_last_cut() -> None:
    # c and its input take 9 bytes, 14 with a. In order, a is computed again after c; a staged
    # schedule has no stage after c.
    for memory_bytes, expected in ((14, 4), (13, 6), (9, 6), (8, None)):
        assert least_in_order_time_ns(KEPT, memory_bytes) == expected
        assert time_ns(Frontier().build(RematGraph(KEPT, memory_bytes))) == expected
    assert time_ns(Residency().build(RematGraph(KEPT, 14))) == 4
    assert time_ns(Residency().build(RematGraph(KEPT, 13))) is None


def test_a_graph_of_one_kept_node_has_no_slot_and_is_staged_all_the_same() -> None:
    graph = Graph("one", (Node(name="a", duration_ns=0, output_bytes=0, keep=True),))
    built = WindowedFrontier((0,), valid_for=STAGED).build(RematGraph(graph, 0))
    # A recomputation for nothing, which costs nothing, is no point.
    assert built.model.column_upper.tolist() == [0, 1]


def test_the_relaxation_of_more_cuts_is_not_below_that_of_one() -> None:
    # Without the rows (ever), (lost) and (path) it is 17, each window computing a bit of a node.
    problem = long_problem()
    cuts = (4, 6, 8, 10, 12, 14)
    single = max(relaxed(WindowedFrontier((t,)).build(problem)) for t in cuts)
    assert single == pytest.approx(32)
    assert relaxed(WindowedFrontier(cuts).build(problem)) >= single - 1e-6


def relaxed(built: WindowedModel) -> float:
    objective = solve_model(built.model.relaxed()).objective
    assert objective is not None
    return objective


def test_a_slot_is_no_row_for_schedules_that_recompute_in_another_order() -> None:
    # d and c are computed again before e, d first: see
    # tests/remat_graph/oracles/test_brute_force.py.
    graph = Graph(
        "backwards",
        (
            Node(name="a", duration_ns=1, output_bytes=4),
            Node(name="c", duration_ns=1, output_bytes=2),
            Node(name="d", duration_ns=1, output_bytes=1, inputs=("a",)),
            Node(name="b", duration_ns=1, output_bytes=6),
            Node(name="e", duration_ns=1, output_bytes=0, inputs=("c", "d")),
        ),
    )
    problem = RematGraph(graph, 6)
    assert least_in_order_time_ns(graph, 6) == 8
    assert time_ns(Frontier().build(problem)) == 8
    assert time_ns(Residency().build(problem)) is None


@settings(max_examples=80)
@given(PROBLEMS)
def test_residency_and_checkmate_have_the_optimum_of_the_brute_force(problem: RematGraph) -> None:
    graph = problem.instance
    expected = least_staged_time_ns(graph, problem.memory_bytes)
    assert time_ns(Residency().build(problem)) == expected
    checkmate = Checkmate().build(problem)
    objective = solve_model(from_pulp(checkmate.problem).model, EXACT).objective
    assert (objective is None) == (expected is None)
    if objective is not None:
        found = graph.base_time_ns + checkmate.time_scale.from_model(objective)
        assert found == expected


@settings(max_examples=50)
@given(PROBLEMS)
def test_a_point_of_residency_becomes_a_schedule_that_fits(problem: RematGraph) -> None:
    graph = problem.instance
    built = Residency().build(problem)
    solution = solve_model(built.model, EXACT)
    if solution.values is None:
        return
    computations = built.computations(solution.values)
    replay = GraphSchedule.from_computations(graph, computations).replay(
        graph, problem.memory_bytes
    )
    assert replay.valid
    assert replay.schedule_class is ScheduleClass.STAGED
    assert replay.time_ns == time_ns(built)


@settings(max_examples=80)
@given(PROBLEMS, st.data())
def test_more_cuts_prove_more_and_never_too_much(problem: RematGraph, data: st.DataObject) -> None:
    graph = problem.instance
    nodes = st.sets(st.integers(0, len(graph) - 1), min_size=1)
    few = data.draw(nodes)
    more = few | data.draw(nodes)
    bounds = [time_ns(WindowedFrontier(tuple(sorted(cuts))).build(problem)) for cuts in (few, more)]
    bounds.append(time_ns(Frontier().build(problem)))
    bounds.append(least_in_order_time_ns(graph, problem.memory_bytes))
    for weaker, stronger in pairwise(bounds):
        assert is_at_most(weaker, stronger)


@settings(max_examples=50)
@given(PROBLEMS, st.data())
def test_slots_prove_more_and_hold_for_staged_schedules(
    problem: RematGraph, data: st.DataObject
) -> None:
    graph = problem.instance
    stages = range(len(graph))
    pairs = [(t, q) for t in stages for q in range(t)]
    if not pairs:
        return
    slots = tuple(sorted(data.draw(st.sets(st.sampled_from(pairs), min_size=1))))
    cuts = tuple(sorted({cut for t, _ in slots for cut in (t - 1, t)}))
    bounds = [
        time_ns(WindowedFrontier(cuts).build(problem)),
        time_ns(WindowedFrontier(cuts, slots, STAGED).build(problem)),
        least_staged_time_ns(graph, problem.memory_bytes),
    ]
    assert is_at_most(bounds[0], bounds[1])
    assert is_at_most(bounds[1], bounds[2])


@settings(max_examples=50)
@given(PROBLEMS, st.data())
def test_a_point_of_any_cuts_becomes_a_schedule_but_for_its_memory(
    problem: RematGraph, data: st.DataObject
) -> None:
    graph = problem.instance
    cuts = tuple(sorted(data.draw(st.sets(st.integers(0, len(graph) - 1), min_size=1))))
    built = WindowedFrontier(cuts).build(problem)
    solution = solve_model(built.model, EXACT)
    if solution.values is None:
        return
    computations = built.computations(solution.values)
    replay = GraphSchedule.from_computations(graph, computations).replay(graph)
    assert replay.valid
    assert ScheduleClass.IN_ORDER.covers(replay.schedule_class)
    # What nobody reads is left out.
    found = time_ns(built)
    assert found is not None
    assert replay.time_ns <= found


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: WindowedFrontier(()), "cuts"),
        (lambda: WindowedFrontier((2, 1)), "cuts"),
        (lambda: WindowedFrontier((-1,)), "cuts"),
        (lambda: WindowedFrontier((1, 3), ((3, 0),), STAGED), "slots"),
        (lambda: WindowedFrontier((1, 2), ((2, 2),), STAGED), "slots"),
        (lambda: WindowedFrontier((1, 2), ((2, 0),)), "valid_for"),
        (lambda: WindowedFrontier((1,), valid_for=ScheduleClass.ALL), "valid_for"),
        (lambda: WindowedFrontier((4,)).build(RematGraph(SKIP, 9)), "cuts"),
    ],
)
def test_cuts_and_slots_that_do_not_exist_are_refused(
    make: Callable[[], object], field: str
) -> None:
    with pytest.raises(InputError, match=f"^{field}: "):
        make()
