"""The grid of stages and nodes: what a cell says, and that the picture shows the cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison import Graph
from jettison.remat_graph import GraphOperation, GraphOperationKind, GraphSchedule, Node
from jettison.schedules.remat_graph.recomputation_grid import (
    Cell,
    plot_recomputation_grid,
    recomputation_cells,
)
from jettison.solvers.remat_graph.baselines.simple import recompute_all_schedule, store_all_schedule
from tests.drawing.graphs import graphs
from tests.tiny import GRAPHS, LADDER, ONE_NODE


def path_of(length: int) -> Graph:
    first = Node(name="n0", duration_ns=1, output_bytes=1)
    others = (
        Node(name=f"n{k}", duration_ns=1, output_bytes=1, inputs=(f"n{k - 1}",))
        for k in range(1, length)
    )
    return Graph("path", (first, *others))


def rows(text: str) -> list[list[int]]:
    letters = {".": Cell.NOTHING, "k": Cell.KEPT, "r": Cell.RECOMPUTED, "F": Cell.FIRST}
    return [[letters[letter] for letter in line] for line in text.split()]


def test_the_cells_of_a_small_schedule() -> None:
    # f0 is read by f1, dropped, and computed again for b1, w1 and b0; f1 serves f2, b2 and b1.
    schedule = GraphSchedule.from_computations(LADDER, [0, 1, 2, 3, 0, 4, 5, 6])
    expected = """
        F......
        kF.....
        .kF....
        .kkF...
        rk.kF..
        k..kkF.
        k...kkF
    """
    assert recomputation_cells(LADDER, schedule).tolist() == rows(expected)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_a_step_without_recomputation_has_first_computations_on_the_diagonal(graph: Graph) -> None:
    cells = recomputation_cells(graph, store_all_schedule(graph))
    assert (np.diagonal(cells) == Cell.FIRST).all()
    assert (cells == Cell.FIRST).sum() == len(graph)
    assert not (cells == Cell.RECOMPUTED).any()


@given(graphs(max_nodes=7))
def test_in_a_staged_schedule_every_recomputation_has_a_cell(graph: Graph) -> None:
    schedule = recompute_all_schedule(graph)
    cells = recomputation_cells(graph, schedule)
    repeated = len(schedule.computations) - len(graph)
    assert (cells == Cell.RECOMPUTED).sum() == repeated
    assert cells.shape == (len(graph), len(graph))


@given(st.data())
def test_kept_are_the_values_in_memory_when_a_stage_starts(data: st.DataObject) -> None:
    graph = data.draw(graphs(max_nodes=5))
    computations = data.draw(st.lists(st.integers(0, len(graph) - 1), max_size=12))
    schedule = GraphSchedule.from_computations(graph, computations)
    in_memory: set[int] = set()
    computed: set[int] = set()
    at_start: list[set[int]] = []
    new_stage = True
    for operation in schedule.operations:
        if operation.kind is GraphOperationKind.FREE:
            in_memory.discard(operation.node)
            continue
        if new_stage:
            at_start.append(set(in_memory))
        new_stage = operation.node not in computed
        computed.add(operation.node)
        in_memory.add(operation.node)
    cells = recomputation_cells(graph, schedule)
    assert len(cells) == len(at_start)
    for row, stored in zip(cells, at_start, strict=True):
        kept = {node for node, cell in enumerate(row) if cell == Cell.KEPT}
        assert kept == {node for node in stored if row[node] != Cell.RECOMPUTED}


def test_what_is_recomputed_after_the_last_first_computation_is_a_stage() -> None:
    free, compute = GraphOperationKind.FREE, GraphOperationKind.COMPUTE
    schedule = GraphSchedule(
        (GraphOperation(compute, 0), GraphOperation(free, 0), GraphOperation(compute, 0))
    )
    assert recomputation_cells(ONE_NODE, schedule).tolist() == rows("F r")


def test_operations_on_nodes_that_do_not_exist_are_passed_over() -> None:
    schedule = GraphSchedule(
        (GraphOperation(GraphOperationKind.COMPUTE, 7), GraphOperation(GraphOperationKind.FREE, -1))
    )
    assert recomputation_cells(ONE_NODE, schedule).shape == (0, 1)
    plot_recomputation_grid(ONE_NODE, schedule, title="nothing").draw_without_rendering()


def test_the_picture_shows_the_cells_and_counts_them() -> None:
    schedule = GraphSchedule.from_computations(LADDER, [0, 1, 2, 3, 0, 4, 5, 6])
    figure = plot_recomputation_grid(LADDER, schedule, title="mine")
    (image,) = figure.axes[0].images
    assert image.get_array().tolist() == recomputation_cells(LADDER, schedule).tolist()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "first computation (7)",
        "recomputation (1)",
        # Counted in the rows above.
        "kept in memory (12)",
    ]


def test_a_line_separates_forward_from_backward_nodes() -> None:
    figure = plot_recomputation_grid(LADDER, store_all_schedule(LADDER), title="mine")
    # Nodes 0 to 2 are forward, 3 to 6 backward.
    (line,) = figure.axes[0].lines
    assert list(line.get_xdata()) == [2.5, 2.5]


def test_without_backward_nodes_there_is_no_such_line() -> None:
    figure = plot_recomputation_grid(ONE_NODE, store_all_schedule(ONE_NODE), title="mine")
    assert not figure.axes[0].lines


@pytest.mark.parametrize("length", [2, 50, 51, 350])
def test_graphs_of_every_size_are_drawn(length: int) -> None:
    graph = path_of(length)
    figure = plot_recomputation_grid(graph, store_all_schedule(graph), title="mine")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert axes.get_xlim() == (-0.5, length - 0.5)
    shows_names = axes.get_xticklabels()[0].get_text() == "n0"
    assert shows_names == (length <= 50)


def test_a_node_may_be_named_like_a_formula_or_at_length() -> None:
    nodes = (
        Node(name="$x^$", duration_ns=1, output_bytes=1),
        Node(name="a" * 200, duration_ns=1, output_bytes=1),
    )
    graph = Graph("odd names", nodes)
    figure = plot_recomputation_grid(graph, store_all_schedule(graph), title="$")
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["$x^$", "a" * 23 + "…"]
