"""The search over orders: schedules of any order, judged by replay and brute force."""

from __future__ import annotations

import random

import pytest

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.solve import compare_with, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.annealing.method import solve_anneal
from jettison.solvers.remat_graph.orders.method import OrdersParams, solve_orders
from tests.drawing.graphs import tight
from tests.remat_graph.oracles.brute_force import least_in_order_time_ns, least_time_ns
from tests.remat_graph.order_graphs import ONE_RESULT, THREE, TWO, interleaved

EXACT = SolveOptions(time_limit_s=None, gap=0)


def replayed_ns(problem: RematGraph, outcome: Outcome) -> int | None:
    """Return the time of a schedule that fits, by its replay."""
    if outcome.schedule is None:
        return None
    replay = outcome.schedule.replay(problem.instance, problem.memory_bytes)  # type: ignore[call-arg, arg-type]
    assert replay.valid
    return replay.time_ns


@pytest.mark.parametrize(
    ("graph", "memory_bytes"), [(THREE, 1), (TWO, 2), (ONE_RESULT, 2), (interleaved(40), 2)]
)
def test_an_order_without_recomputation_is_found(graph: Graph, memory_bytes: int) -> None:
    result = solve_with(RematGraph(graph, memory_bytes), "orders", EXACT)
    assert result.status == "optimal"
    assert result.time_ns == graph.base_time_ns
    assert result.replay is not None
    assert result.replay.schedule_class is ScheduleClass.ALL


def test_where_the_order_matters_most_optima_of_all_schedules_are_found() -> None:
    # None of them is a schedule in the order of the graph. On 310 of other seeds all were found.
    chance = random.Random(11)
    number = found = 0
    while number < 30:
        problem = tight(chance, 6)
        graph, memory_bytes = problem.instance, problem.memory_bytes
        best_ns = least_time_ns(graph, memory_bytes)
        if best_ns is None or best_ns == least_in_order_time_ns(graph, memory_bytes):
            continue
        number += 1
        time_ns = replayed_ns(problem, solve_orders(problem, EXACT))
        assert time_ns is None or time_ns >= best_ns
        found += time_ns == best_ns
    assert found >= 29


def test_it_is_never_worse_than_annealing_in_the_order_given() -> None:
    chance = random.Random(12)
    better = 0
    for _ in range(6):
        problem = tight(chance, 10)
        given_ns = replayed_ns(problem, solve_anneal(problem, EXACT))
        time_ns = replayed_ns(problem, solve_orders(problem, EXACT))
        if given_ns is not None:
            assert time_ns is not None
            assert time_ns <= given_ns
        better += time_ns != given_ns
    assert better >= 2


def test_a_kept_value_is_computed_again_at_the_end() -> None:
    # b needs a, and c, beside b, leaves no room for a in 9 bytes: a, b, c, a. There is one order,
    # and a staged schedule has no stage after c.
    graph = Graph(
        "kept",
        (
            Node(name="a", duration_ns=2, output_bytes=5, keep=True),
            Node(name="b", duration_ns=1, output_bytes=1, inputs=("a",)),
            Node(name="c", duration_ns=1, output_bytes=8, inputs=("b",)),
        ),
    )
    assert least_time_ns(graph, 9) == 6
    result = solve_with(RematGraph(graph, 9), "orders", EXACT)
    assert result.time_ns == 6
    assert solve_with(RematGraph(graph, 9), "anneal", EXACT).time_ns is None


def test_a_seed_gives_the_same_schedule_again() -> None:
    problem = tight(random.Random(13), 12)
    first, second = (solve_orders(problem, EXACT) for _ in range(2))
    assert first.schedule == second.schedule
    assert first.work == second.work


def test_a_bound_of_any_order_makes_its_schedule_optimal() -> None:
    results = compare_with(RematGraph(THREE, 1), ["exact", "orders", "any-order-bound"], EXACT)
    statuses = ["optimal-in-order", "optimal", "bounded"]
    assert [result.status for result in results] == statuses
    assert [result.time_ns for result in results] == [4, 3, None]


def test_the_time_limit_and_ctrl_c_keep_the_best_so_far() -> None:
    problem = tight(random.Random(28), 12)
    graph = problem.instance
    best = solve_orders(problem, EXACT)
    assert (replayed_ns(problem, best) or 0) > graph.base_time_ns
    limited = solve_orders(problem, SolveOptions(time_limit_s=1e-9))
    assert limited.termination is Termination.TIME_LIMIT
    seen: list[Progress] = []

    def press(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    outcome = solve_orders(problem, SolveOptions(time_limit_s=None, gap=0, on_progress=press))
    assert outcome.termination is Termination.INTERRUPTED
    assert replayed_ns(problem, outcome) == seen[-1].time_ns
    times = [progress.time_ns for progress in seen if progress.time_ns is not None]
    assert times == sorted(times, reverse=True)


def test_it_begins_from_the_schedule_of_a_caller() -> None:
    problem = tight(random.Random(28), 12)
    best = solve_orders(problem, EXACT).schedule
    assert best is not None
    # There is time for nothing else.
    options = SolveOptions(time_limit_s=1e-9, start=best)
    assert solve_orders(problem, options).schedule == best


def test_where_nothing_is_found_a_note_says_so() -> None:
    chance = random.Random(14)
    while True:
        problem = tight(chance, 6)
        if least_time_ns(problem.instance, problem.memory_bytes) is None:
            break
    outcome = solve_orders(problem, EXACT, OrdersParams(steps=1))
    assert outcome.schedule is None
    assert outcome.infeasibility is None
    assert outcome.note is not None
    assert "does not prove" in outcome.note
