"""The model of any order: a bound for every schedule, and with every count nearly the optimum."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, InputError, RematGraph
from jettison.formulations.remat_graph.any_order.cut import AnyOrderCut, AnyOrderModel
from jettison.formulations.remat_graph.any_order.milestones import Milestone
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.drawing.graphs import graphs, tight, tight_remat_graphs
from tests.remat_graph.oracles.brute_force import least_in_order_time_ns, least_time_ns

EXACT = HighsOptions(gap=0, feasibility_tolerance=1e-9)
# q, of 2 bytes, can run before p, which must stay for r.
BETWEEN = Graph(
    "between",
    (
        Node(name="p", duration_ns=6, output_bytes=1),
        Node(name="q", duration_ns=4, output_bytes=2),
        Node(name="r", duration_ns=9, output_bytes=1, inputs=("p",)),
    ),
)


def time_ns(built: AnyOrderModel) -> int | None:
    """Return the base time and the optimum, or None if the model has no point."""
    objective = solve_model(built.model, EXACT).objective
    if objective is None:
        return None
    return built.graph.base_time_ns + built.time_scale.from_model(objective)


def counts(graph: Graph) -> tuple[Milestone, ...]:
    everything = frozenset(range(len(graph)))
    return tuple(Milestone(everything, count + 1) for count in range(len(graph)))


def any_graphs() -> st.SearchStrategy[RematGraph]:
    """Draw a graph of any shape and a memory that may be too small."""
    return graphs(max_nodes=5).flatmap(
        lambda graph: st.integers(graph.store_all_peak_bytes // 2, graph.store_all_peak_bytes).map(
            lambda memory_bytes: RematGraph(graph, memory_bytes)
        )
    )


def test_the_rows_are_those_of_the_docstring() -> None:
    # At the end of q: p may have been computed, and is read by r, which may have been, too.
    model = AnyOrderCut((Milestone.of(1),)).build(RematGraph(BETWEEN, 2)).model
    assert model.column_names == ("P_0_0", "P_0_2", "Y_0_1", "R_0_0", "S_0_0", "O_0_1")
    assert model.row_names == (
        "down_0_2_0",
        "last_0",
        "need_0_0_2",
        "runs_0_1",
        "memory_0",
    )
    assert model.objective.tolist() == [0, 0, 0, 6, 0, 0]
    need = slice(*model.indptr[2:4])
    names = [model.column_names[column] for column in model.indices[need]]
    assert dict(zip(names, model.data[need].tolist(), strict=True)) == {
        "P_0_0": -1,
        "P_0_2": 1,
        "R_0_0": 1,
        "S_0_0": 1,
    }


def test_another_order_of_computations_needs_no_recomputation() -> None:
    # In order p is computed again after q: 19 + 6 ns. The cut of that order is no bound for all.
    problem = RematGraph(BETWEEN, 2)
    assert least_in_order_time_ns(BETWEEN, 2) == 25
    assert least_time_ns(BETWEEN, 2) == 19
    in_order = WindowedFrontier((1,)).build(problem)
    assert solve_model(in_order.model, EXACT).objective == 6
    for t in range(3):
        assert time_ns(AnyOrderCut((Milestone.of(t),)).build(problem)) == 19


def test_where_there_is_one_order_only_the_cut_is_that_of_the_order() -> None:
    chance = random.Random(5)
    for _ in range(30):
        nodes = [
            Node(
                name=f"{i}",
                duration_ns=chance.randint(1, 9),
                output_bytes=chance.randint(1, 9),
                inputs=tuple({f"{i - 1}", f"{chance.randrange(i)}"}) if i else (),
                keep=chance.random() < 0.1,
            )
            for i in range(8)
        ]
        problem = RematGraph(Graph("path", tuple(nodes)), "70%")
        cuts = tuple(sorted(chance.sample(range(8), chance.randint(1, 3))))
        built = AnyOrderCut(tuple(map(Milestone.of, cuts))).build(problem)
        assert not any(name.startswith("P") for name in built.model.column_names)
        expected = solve_model(WindowedFrontier(cuts).build(problem).model, EXACT).objective
        found = solve_model(built.model, EXACT).objective
        assert (found is None) == (expected is None)
        if found is not None:
            assert found == pytest.approx(expected)


def test_workspaces_and_kept_values_count() -> None:
    graph = Graph(
        "kept",
        (
            Node(name="a", duration_ns=2, output_bytes=5, keep=True),
            Node(name="b", duration_ns=1, output_bytes=1, workspace_bytes=3, inputs=("a",)),
            Node(name="c", duration_ns=1, output_bytes=4, inputs=("b",)),
        ),
    )
    # b runs with 5 + 1 + 3 bytes; c with 1 + 4, 10 if a stays.
    for memory_bytes, expected in ((10, 4), (9, 6), (8, None)):
        assert least_time_ns(graph, memory_bytes) == expected
        problem = RematGraph(graph, memory_bytes)
        assert time_ns(AnyOrderCut(counts(graph)).build(problem)) == expected


@settings(max_examples=60)
@given(st.one_of(tight_remat_graphs(max_nodes=6), any_graphs()), st.data())
def test_no_milestones_prove_more_than_the_best_of_all_schedules(
    problem: RematGraph, data: st.DataObject
) -> None:
    graph = problem.instance
    best_ns = least_time_ns(graph, problem.memory_bytes)
    nodes = data.draw(st.sets(st.integers(0, len(graph) - 1), min_size=1))
    some = tuple(Milestone(frozenset(nodes), count + 1) for count in range(len(nodes)))
    for milestones in (some, counts(graph)):
        bound_ns = time_ns(AnyOrderCut(milestones).build(problem))
        assert best_ns is None or (bound_ns is not None and bound_ns <= best_ns)


def test_one_node_explains_most_and_all_counts_nearly_all_of_the_recomputation() -> None:
    # Of seeded graphs that need recomputation in every order. On 700 of six nodes it was 0.91 and
    # 0.99; 679 of them were met.
    chance = random.Random(6)
    one = every = met = number = 0.0
    while number < 30:
        problem = tight(chance, 6)
        graph = problem.instance
        best_ns = least_time_ns(graph, problem.memory_bytes)
        base_ns = graph.base_time_ns
        if best_ns in {None, base_ns}:
            continue
        assert best_ns is not None
        number += 1
        singles = [
            time_ns(AnyOrderCut((Milestone.of(t),)).build(problem)) for t in range(len(graph))
        ]
        proved_ns = max(found for found in singles if found is not None)
        all_ns = time_ns(AnyOrderCut(counts(graph)).build(problem))
        assert all_ns is not None
        assert proved_ns <= best_ns
        assert all_ns <= best_ns
        one += (proved_ns - base_ns) / (best_ns - base_ns)
        every += (all_ns - base_ns) / (best_ns - base_ns)
        met += all_ns == best_ns
    assert one >= 0.8 * number
    assert every >= 0.95 * number
    assert met >= 0.9 * number


def test_a_plan_passes_the_milestones_and_computes_what_the_point_says() -> None:
    chance = random.Random(7)
    number = 0
    while number < 20:
        problem = tight(chance, 6)
        graph = problem.instance
        built = AnyOrderCut(counts(graph)).build(problem)
        solution = solve_model(built.model, EXACT)
        if solution.values is None:
            continue
        number += 1
        plan = built.plan(solution.values)
        assert plan.places == tuple(range(len(graph)))
        computations = plan.reordered.to_original(plan.computations)
        replay = GraphSchedule.from_computations(graph, computations).replay(graph)
        assert replay.valid
        assert replay.time_ns <= (time_ns(built) or 0)


def test_milestones_that_need_not_follow_each_other_are_refused() -> None:
    problem = RematGraph(BETWEEN, 2)
    for nodes in ((0, 1), (1, 0), (2, 0), (0, 0)):
        with pytest.raises(InputError, match="in every schedule"):
            AnyOrderCut(tuple(map(Milestone.of, nodes))).build(problem)
    AnyOrderCut(tuple(map(Milestone.of, (0, 2)))).build(problem)
    with pytest.raises(InputError, match="nodes of the graph"):
        AnyOrderCut((Milestone.of(3),)).build(problem)
    with pytest.raises(InputError, match="at least one"):
        AnyOrderCut(())
