"""The least memory of a graph: exact against the brute force, honest when the time is up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from jettison.instances.core.memory import Amount
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph import least_memory as least_graph_memory
from jettison.solvers.remat_graph.least_memory import least_staged_memory, staged_memory_bound
from tests.drawing.graphs import tight_remat_graphs
from tests.remat_graph.oracles.brute_force import least_staged_memory_bytes

# a must stay, or be recomputed, until b and c are there: 5 + 1 + 8 bytes. No node needs that much.
KEPT = Graph(
    "kept",
    (
        Node(name="a", duration_ns=2, output_bytes=5, keep=True),
        Node(name="b", duration_ns=1, output_bytes=1),
        Node(name="c", duration_ns=1, output_bytes=8, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=0, inputs=("c",)),
    ),
)


def least(graph: Graph, not_below_bytes: int = 0) -> least_graph_memory.LeastMemory:
    return least_staged_memory(graph, not_below_bytes, SolveOptions(), Clock(None))


def test_the_least_memory_is_found_and_proved() -> None:
    # a is dropped after its own stage and recomputed when only c (8 bytes) is left: 5 + 8.
    found = least(KEPT)
    assert found.lower_bytes == found.peak_bytes == 13
    assert found.is_exact
    assert found.schedule.replay(KEPT, 13).valid


def test_a_bound_that_the_schedule_without_recomputation_meets_needs_no_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(least_graph_memory, "solve_in_time", None)
    found = least(KEPT, not_below_bytes=14)
    assert found.is_exact
    assert found.peak_bytes == KEPT.store_all_peak_bytes == 14


# b and c alone take 9 bytes; a peak is an integer.
@pytest.mark.parametrize(("dual_bound", "lower_bytes"), [(None, 9), (2.0, 9), (10.5, 11)])
def test_a_search_that_is_cut_short_leaves_a_lower_bound(
    monkeypatch: pytest.MonkeyPatch, dual_bound: float | None, lower_bytes: int
) -> None:
    def cut_short(*_: object) -> ModelSolution:
        return ModelSolution(
            termination=Termination.TIME_LIMIT,
            answer=Answer.UNKNOWN,
            dual_bound=dual_bound,
            seconds=0,
        )

    monkeypatch.setattr(least_graph_memory, "solve_in_time", cut_short)
    found = least(KEPT)
    assert (found.lower_bytes, found.peak_bytes) == (lower_bytes, 13)
    assert not found.is_exact
    assert staged_memory_bound(KEPT, 0, SolveOptions(), Clock(None)) == lower_bytes


@given(tight_remat_graphs())
@settings(max_examples=60)
def test_the_least_memory_is_that_of_the_brute_force(problem: RematGraph) -> None:
    graph = problem.instance
    found = least(graph)
    assert found.is_exact
    assert found.peak_bytes == least_staged_memory_bytes(graph)
    assert found.schedule.replay(graph, found.peak_bytes).valid
    bound_bytes = staged_memory_bound(graph, 0, SolveOptions(), Clock(None))
    assert graph.least_peak_bound_bytes <= bound_bytes <= found.peak_bytes


def test_with_limited_work_no_clock_and_no_solver_decides_what_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(least_graph_memory, "solve_in_time", None)
    monkeypatch.setattr(least_graph_memory, "least_staged_memory", None)
    options = SolveOptions(time_limit_s=None, most_moves=1000)
    refused = find_method("remat-graph", "exact").run(RematGraph(KEPT, Amount(3)), options)
    # The largest node alone takes 9 bytes; annealing finds the schedule that needs 13.
    assert refused.infeasibility is not None
    assert refused.infeasibility.least_memory_bytes == KEPT.least_peak_bound_bytes
    assert refused.note is not None
    assert refused.note.startswith("13 B (13 bytes) would do")
