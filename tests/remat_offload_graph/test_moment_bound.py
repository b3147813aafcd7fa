"""The bound of moments: below the least time of every schedule, and what it proves by hand."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import jettison as jt
from jettison import Graph, Link
from jettison.formulations.remat_offload_graph.first_starts import FirstStarts
from jettison.formulations.remat_offload_graph.passed_moments import KnownOrder, PassedMoments
from jettison.instances.core.errors import InputError
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.remat_graph import Node
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import best_bound
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_offload_graph.everything_away import everything_offloaded
from tests.remat_offload_graph.cases import tiny_problem
from tests.remat_offload_graph.oracles.moments import InOrderSearch, MomentSearch

# a (4 ns, 6 bytes) is read by b (3 ns, 2 bytes) and d (2 ns, 1 byte), c (5 ns, 5 bytes) by d. In 12
# bytes, c (6 with its workspace) and b and a are 14: a has left when c starts. It is computed again
# in 4 ns, or leaves from 4 to 4 + 6/rate and comes back before d.
SKIP = Graph(
    "skip",
    (
        Node(name="a", duration_ns=4, output_bytes=6),
        Node(name="b", duration_ns=3, output_bytes=2, inputs=("a",)),
        Node(name="c", duration_ns=5, output_bytes=5, inputs=("b",), workspace_bytes=1),
        Node(name="d", duration_ns=2, output_bytes=1, inputs=("a", "c")),
    ),
)


def rate(problem: RematOffloadGraph) -> Fraction | None:
    return None if problem.link is None else Fraction(problem.link.bytes_per_s, 10**9)


@pytest.mark.parametrize(
    ("bandwidth", "expected"),
    [
        # Without a link a is computed again: 14 + 4.
        (None, 18),
        # The copy takes 24 ns each way.
        (250_000_000, 18),
        # 2 bytes per ns: it leaves from 4 to 7, as b ends. Beside b and c there is no room for it
        # until c ends at 12: it is back at 15.
        (2 * 10**9, 17),
        # 6 bytes per ns: it is back at 13.
        (6 * 10**9, 15),
        # 1 byte per ns: c waits for its 6 ns until 10, or a is computed again.
        (10**9, 18),
    ],
)
def test_the_bound_by_hand(bandwidth: int | None, expected: int) -> None:
    problem = RematOffloadGraph(SKIP, 12, bandwidth)
    found = jt.solve(problem, method="moment-bound")
    assert found.lower_bound_ns == MomentSearch(SKIP, 12, rate(problem)).fastest() == expected


def test_bounds_of_both_classes_never_exceed_the_least_times() -> None:
    chance = random.Random(1)
    harder = met = 0
    for seed in range(60):
        problem = tiny_problem(chance)
        graph, memory_bytes = problem.instance, problem.memory_bytes
        bounds = jt.bound(problem, method="moment-bound").bounds
        for search, valid_for in (
            (MomentSearch, ScheduleClass.ALL),
            (InOrderSearch, ScheduleClass.IN_ORDER),
        ):
            least_ns = search(graph, memory_bytes, rate(problem)).fastest()
            bound = best_bound(bounds, valid_for)
            assert bound is not None
            if least_ns is not None:
                assert problem.base_time_ns <= bound.time_ns <= least_ns, seed
                harder += least_ns > problem.base_time_ns
                met += least_ns > problem.base_time_ns and bound.time_ns == least_ns
    assert harder > 20
    assert met > harder / 4


def test_any_moments_bound_any_link_and_none() -> None:
    chance = random.Random(2)
    for seed in range(60):
        problem = tiny_problem(chance, 4)
        graph = problem.instance
        order = KnownOrder(graph)
        nodes: list[int] = []
        for node in sorted(chance.sample(range(len(graph)), chance.randint(1, len(graph)))):
            if not graph.comes_in_a_run(node) and all(order.precedes(i, node) for i in nodes):
                nodes.append(node)
        moments = FirstStarts(PassedMoments(order, tuple(nodes)))
        for bandwidth in (problem.link, None, Link.half_duplex(10**9)):
            asked = RematOffloadGraph(graph, problem.memory_bytes, bandwidth)
            built = moments.build(asked)
            speed = rate(asked)
            # Nothing is faster on a shared link than on the full-duplex one.
            least_ns = MomentSearch(graph, problem.memory_bytes, speed).fastest()
            if least_ns is None:
                continue
            solution = solve_model(built.model, HighsOptions())
            if asked.link is not None and asked.link.is_shared:
                # The row (both) may add to that, and nothing else does.
                fast = RematOffloadGraph(graph, problem.memory_bytes, asked.link.full_duplex)
                plain = solve_model(moments.build(fast).model, HighsOptions())
                assert solution.objective is not None
                assert plain.objective is not None
                assert solution.objective >= plain.objective - 1e-6
                shared_time = everything_offloaded(asked).replay(graph, asked.link).time_ns
                if problem.movable == set(range(len(graph))):
                    assert solution.objective * built.time_unit_ns <= shared_time + 1e-6
                continue
            assert solution.dual_bound is not None, seed
            assert solution.dual_bound * built.time_unit_ns <= least_ns + 1e-6, seed


def test_more_time_on_the_link_and_less_memory_never_lower_the_bound() -> None:
    order = KnownOrder(SKIP)
    moments = FirstStarts(PassedMoments(order, (2,)))
    values = []
    for rate_bytes in (4, 2, 1):
        row = []
        for memory_bytes in (14, 13, 12):
            problem = RematOffloadGraph(SKIP, memory_bytes, rate_bytes * 10**9)
            solution = solve_model(moments.build(problem).model, HighsOptions())
            assert solution.objective is not None
            row.append(solution.objective)
        assert row == sorted(row)
        values.append(row[-1])
    assert values == sorted(values)


def test_moments_that_may_come_in_any_order_are_refused() -> None:
    nodes = tuple(Node(name=name, duration_ns=1, output_bytes=1) for name in "ab")
    graph = Graph("two", nodes)
    with pytest.raises(InputError, match="need not come before"):
        PassedMoments(KnownOrder(graph), (0, 1))
    PassedMoments(KnownOrder(graph, ScheduleClass.IN_ORDER), (0, 1))
    with pytest.raises(InputError, match="in-order"):
        KnownOrder(graph, ScheduleClass.POFO)
