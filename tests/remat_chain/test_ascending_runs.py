"""The model of ascending runs: the optimum of all schedules of a graph, given enough runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from jettison import Graph, InputError, RematGraph
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_of_a_method import highs_options
from tests.drawing.graphs import tight_remat_graphs
from tests.remat_chain.oracles.ascending_runs import AscendingRuns
from tests.remat_graph.oracles.brute_force import least_staged_time_ns, least_time_ns
from tests.tiny import ONLY_OUT_OF_ORDER


def optimum_ns(problem: RematGraph, runs: int) -> int | None:
    """Solve the model, replay its schedule, and return the time that both agree on."""
    built = AscendingRuns(runs).build(problem)
    solution = solve_model(built.model, highs_options(SolveOptions(), Clock(60), gap=0))
    if solution.answer is Answer.INFEASIBLE:
        return None
    assert solution.answer is Answer.OPTIMAL
    assert solution.values is not None
    assert solution.dual_bound is not None
    graph = problem.instance
    schedule = GraphSchedule.from_computations(graph, built.computations(solution.values))
    replay = schedule.replay(graph, problem.memory_bytes)
    assert replay.valid
    assert replay.time_ns == built.time_scale.bound_from_model(solution.dual_bound)
    return replay.time_ns


def test_it_finds_the_schedule_that_no_staged_one_equals() -> None:
    # n0 n1 n2 n4 | n3 | n0 n5: three runs, and no two will do.
    assert optimum_ns(RematGraph(ONLY_OUT_OF_ORDER, 19), 2) is None
    assert optimum_ns(RematGraph(ONLY_OUT_OF_ORDER, 19), 3) == 35
    assert least_staged_time_ns(ONLY_OUT_OF_ORDER, 19) is None


@settings(max_examples=40)
@given(tight_remat_graphs(max_nodes=5))
def test_with_enough_runs_it_has_the_optimum_of_the_brute_force(problem: RematGraph) -> None:
    # Five nodes in ten computations at most fall into no more than six runs, as it turns out.
    assert optimum_ns(problem, 6) == least_time_ns(problem.instance, problem.memory_bytes)


def test_in_one_run_every_node_is_computed_once() -> None:
    peak_bytes = ONLY_OUT_OF_ORDER.store_all_peak_bytes
    base_ns = ONLY_OUT_OF_ORDER.base_time_ns
    assert optimum_ns(RematGraph(ONLY_OUT_OF_ORDER, peak_bytes), 1) == base_ns
    assert optimum_ns(RematGraph(ONLY_OUT_OF_ORDER, peak_bytes - 1), 1) is None


def test_a_kept_node_is_in_memory_at_the_end_and_a_backward_node_is_computed_once() -> None:
    # a (3) is kept, and c needs b (3) and 4 bytes of its own: in 7 bytes a is dropped and computed
    # again, which a backward node may not be.
    def graph(*, backward: bool) -> Graph:
        return Graph(
            "again",
            (
                Node(name="a", duration_ns=5, output_bytes=3, keep=True, backward=backward),
                Node(name="b", duration_ns=1, output_bytes=3, inputs=("a",), backward=backward),
                Node(name="c", duration_ns=1, output_bytes=4, inputs=("b",), backward=backward),
            ),
        )

    # a, b, then c in place of a, then a once more.
    assert least_time_ns(graph(backward=False), 7) == 5 + 1 + 1 + 5
    assert optimum_ns(RematGraph(graph(backward=False), 7), 2) == 12
    assert optimum_ns(RematGraph(graph(backward=True), 7), 2) is None
    assert optimum_ns(RematGraph(graph(backward=True), 10), 2) == 7


def test_no_run_at_all_is_refused() -> None:
    with pytest.raises(InputError, match=r"^runs: 0"):
        AscendingRuns(0)
