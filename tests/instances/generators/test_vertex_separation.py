"""The reduction from vertex separation: its graphs need the registers that its proof says."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from jettison import InputError
from jettison.instances.generators.vertex_separation import (
    Edge,
    vertex_separation,
    vertex_separation_of_one_result,
)
from jettison.instances.remat_graph.graph import Graph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from tests.remat_graph.oracles.registers import least_registers, least_separation

PATH = list(pairwise(range(5)))
STAR = [(0, leaf) for leaf in range(1, 5)]
CYCLE = [*PATH, (4, 0)]
LADDER = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
COMPLETE = list(combinations(range(4), 2))


def reads_of(graph: Graph) -> list[tuple[int, ...]]:
    return list(graph.inputs)


def graphs_without_lonely_vertices(vertices: int) -> list[list[Edge]]:
    pairs = list(combinations(range(vertices), 2))
    chosen = (
        list(edges) for size in range(1, len(pairs) + 1) for edges in combinations(pairs, size)
    )
    return [edges for edges in chosen if len({end for edge in edges for end in edge}) == vertices]


@pytest.mark.parametrize(
    ("edges", "number"), [(PATH, 1), (STAR, 1), (CYCLE, 2), (LADDER, 2), (COMPLETE, 3)]
)
def test_known_separations_are_the_registers_less_two(edges: list[Edge], number: int) -> None:
    vertices = len({end for edge in edges for end in edge})
    assert least_separation(vertices, edges) == number
    problem = vertex_separation(edges, number)
    assert problem.memory_bytes == number + 2
    assert least_registers(reads_of(problem.instance)) == number + 2


def test_every_graph_of_up_to_four_vertices_needs_its_separation_and_two() -> None:
    for edges in (edges for n in (2, 3, 4) for edges in graphs_without_lonely_vertices(n)):
        number = least_separation(len({end for edge in edges for end in edge}), edges)
        problem = vertex_separation(edges, number)
        assert least_registers(reads_of(problem.instance)) == problem.memory_bytes, edges


def test_with_one_result_the_answer_is_the_same() -> None:
    for edges in ([(0, 1)], [(0, 1), (1, 2)], [(0, 1), (2, 3)], [(0, 1), (1, 2), (0, 2)]):
        number = least_separation(len({end for edge in edges for end in edge}), edges)
        for asked in range(number + 2):
            problem = vertex_separation_of_one_result(edges, asked)
            least = least_registers(reads_of(problem.instance))
            assert (least <= problem.memory_bytes) == (number <= asked), (edges, asked)
        # One node is read by nobody.
        assert [not users for users in problem.instance.users].count(True) == 1


def test_methods_tell_yes_and_no() -> None:
    options = SolveOptions(time_limit_s=None, gap=0)
    for edges, number in ((CYCLE, 2), (COMPLETE, 3)):
        problem = vertex_separation(edges, number)
        nodes = len(problem.instance)
        assert solve_with(problem, "orders", options).time_ns == nodes
        bound = solve_with(vertex_separation(edges, number - 1), "any-order-bound", options)
        assert bound.bound_of_all is not None
        assert bound.bound_of_all.time_ns > nodes


def test_where_nodes_are_computed_again_three_bytes_suffice() -> None:
    result = solve_with(vertex_separation(CYCLE, 1), "exact", SolveOptions(gap=0))
    assert result.replay is not None
    assert result.replay.peak_bytes <= 3
    assert 10 < result.replay.time_ns <= 15


def test_names_of_vertices_do_not_matter() -> None:
    named = vertex_separation([(90, 7), (7, 30)], 1).instance
    assert named == vertex_separation([(2, 0), (0, 1)], 1).instance


@pytest.mark.parametrize("make", [vertex_separation, vertex_separation_of_one_result])
@pytest.mark.parametrize(
    ("edges", "number", "said"),
    [
        ([], 1, "edges: there is none"),
        ([(0, 0)], 1, r"edges\[0\]"),
        ([(0, 1, 2)], 1, r"edges\[0\]"),
        ([(0, 0.5)], 1, r"edges\[0\]: \(0, 0.5\)"),
        ([(0, 1), (1, 0)], 1, r"edges\[1\]"),
        ([(0, 1)], -1, "number: -1 is negative"),
        (list(pairwise(range(9000))), 1, "nodes"),
    ],
)
def test_what_is_no_graph_is_refused(make, edges: list[Edge], number: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(edges, number)
