"""Amounts that differ by more than a solver can tell apart: the question is said to be open."""

from __future__ import annotations

import pytest

from jettison import Graph, RematGraph, RematSharding, ShardedGraph
from jettison.remat_graph import Node
from jettison.remat_sharding import Resharding, Role
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE, left_open
from tests.remat_graph.oracles.brute_force import least_staged_time_ns
from tests.remat_sharding.tiny_sharded import LONE_OPERATOR, operator

OPTIONS = SolveOptions(time_limit_s=2, gap=0)
HUGE = 2**31

# n1 takes all but 3 bytes: with n2 of 2 bytes and n3 of 1 there is no room for n0, which n4 reads.
# It is computed again, in 2 ns beside 13. Models count in 4 bytes, and see none of these.
ROUNDED_AWAY = RematGraph(
    Graph(
        "rounded away",
        (
            Node(name="n0", duration_ns=2, output_bytes=1),
            Node(name="n1", duration_ns=2, output_bytes=HUGE, inputs=("n0",)),
            Node(name="n2", duration_ns=1, output_bytes=2, inputs=("n1",)),
            Node(name="n3", duration_ns=0, output_bytes=1, inputs=("n1", "n2")),
            Node(name="n4", duration_ns=8, output_bytes=1, inputs=("n0", "n3"), keep=True),
        ),
    ),
    HUGE + 3,
)


@pytest.mark.parametrize("method", ["exact", "checkmate"])
def test_a_gap_of_rounded_sizes_is_no_end_of_the_search(method: str) -> None:
    fastest_ns = least_staged_time_ns(ROUNDED_AWAY.instance, ROUNDED_AWAY.memory_bytes)
    assert fastest_ns == 15
    result = solve_with(ROUNDED_AWAY, method, OPTIONS)
    assert result.termination is Termination.ERROR
    assert result.note is not None
    assert "tolerance" in result.note
    assert result.lower_bound_ns == 13
    assert result.time_ns in {None, 15}


def test_only_what_was_run_to_its_end_without_a_proof_is_left_open() -> None:
    for termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED):
        stopped = Outcome(termination=termination)
        assert left_open(stopped) == stopped
    ended = left_open(Outcome(termination=Termination.COMPLETED))
    assert ended == Outcome(termination=Termination.ERROR, note=BELOW_TOLERANCE)
    assert left_open(Outcome(termination=Termination.GAP_REACHED)).note == BELOW_TOLERANCE
    plan = solve_with(RematSharding(LONE_OPERATOR, 2), "exact", OPTIONS).schedule
    reached = Outcome(termination=Termination.GAP_REACHED, schedule=plan)
    assert left_open(reached) == reached


# Beside a strategy of 2^40 ns, models count in 2^11 ns.
SLOW = operator("a", Role.FORWARD, ((3, 1), (2**40, 1)))
# Reading a takes 2 ns more, which is no part of the time without resharding, 3 + 1.
RESHARDED = ShardedGraph(
    "resharded",
    (SLOW, operator("b", Role.BACKWARD, ((1, 1),), ("a",))),
    (Resharding("a", "b", ((2,), (0,))),),
)


@pytest.mark.parametrize("method", ["kiwi-full", "kiwi-reduced"])
def test_a_fastest_plan_that_is_not_proved_leaves_the_problem_open(method: str) -> None:
    result = solve_with(RematSharding(ShardedGraph("slow", (SLOW,)), 1), method, OPTIONS)
    assert (result.status, result.termination) == ("optimal", Termination.COMPLETED)
    assert result.time_ns == 3
    result = solve_with(RematSharding(RESHARDED, 2), method, OPTIONS)
    # 3 + 2 + 1.
    assert (result.time_ns, result.lower_bound_ns) == (6, 4)
    assert (result.termination, result.note) == (Termination.ERROR, BELOW_TOLERANCE)
    # The bound is the time without any overhead, so that all of the overhead is open.
    assert result.gap == 1
    near = solve_with(RematSharding(RESHARDED, 2), method, SolveOptions(gap=0.99))
    assert near.termination is Termination.ERROR
