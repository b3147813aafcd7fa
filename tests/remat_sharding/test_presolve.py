"""Strategies that no fastest plan needs: what is left out, and that nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import RematSharding, ShardedGraph
from jettison.remat_sharding import Operator, Resharding, Role, ShardedSchedule, Strategy
from jettison.solvers.remat_sharding.exact.presolved import presolve_sharding
from tests.remat_sharding.oracles.brute_force import best_staged_plan, priced_choices
from tests.remat_sharding.samples import any_order, training_steps
from tests.remat_sharding.tiny_sharded import strategies_of


def chain_of(*strategies: tuple[tuple[int, int, int], ...]) -> tuple[Operator, ...]:
    """Build operators that read the one before."""
    return tuple(
        Operator(
            name=f"o{place}",
            role=Role.FORWARD,
            inputs=(f"o{place - 1}",) if place else (),
            strategies=strategies_of(*costs),
        )
        for place, costs in enumerate(strategies)
    )


def left(graph: ShardedGraph) -> list[list[str]]:
    presolved = presolve_sharding(RematSharding(graph, 100))
    assert presolved is not None
    return [
        [strategy.name for strategy in operator.strategies]
        for operator in presolved.problem.instance.operators
    ]


def test_slower_and_larger_strategies_go_and_faster_or_smaller_ones_stay() -> None:
    # b is slower than a and as large; c is smaller; d is a once more.
    graph = ShardedGraph("g", chain_of(((2, 0, 4), (3, 0, 4), (5, 0, 1), (1, 1, 4))))
    assert left(graph) == [["a", "c"]]


def test_a_strategy_that_a_neighbour_reads_for_less_stays() -> None:
    operators = chain_of(((2, 0, 4), (3, 0, 4)), ((1, 0, 1),))
    # b is slower, but read for nothing; then for as much.
    assert left(ShardedGraph("g", operators, (Resharding("o0", "o1", ((1,), (0,))),)))[0] == [
        "a",
        "b",
    ]
    assert left(ShardedGraph("g", operators, (Resharding("o0", "o1", ((1,), (1,))),)))[0] == ["a"]


def test_a_pair_with_a_strategy_that_is_left_out_counts_no_more() -> None:
    # o1's b is dominated; only with it would o0's b be read for less.
    operators = chain_of(((2, 0, 4), (3, 0, 4)), ((1, 0, 1), (9, 0, 2)))
    table = ((1, 5), (1, 5))
    assert left(ShardedGraph("g", operators, (Resharding("o0", "o1", table),))) == [["a"], ["a"]]
    cheaper = ((1, 5), (1, 0))
    assert left(ShardedGraph("g", operators, (Resharding("o0", "o1", cheaper),))) == [
        ["a", "b"],
        ["a", "b"],
    ]


def test_followers_are_compared_together() -> None:
    first, second = chain_of(((2, 0, 4), (3, 0, 4)), ((5, 0, 4), (1, 0, 4)))
    graph = ShardedGraph("g", (first, replace(second, follows="o0")))
    # b is slower for o0 and faster for o1.
    assert left(graph) == [["a", "b"], ["a", "b"]]


def test_strategies_without_a_partner_are_impossible() -> None:
    operators = chain_of(((2, 0, 4), (1, 0, 4)), ((1, 0, 2), (2, 0, 1)))
    table = ((0, 0), (None, None))
    assert left(ShardedGraph("g", operators, (Resharding("o0", "o1", table),)))[0] == ["a"]


def test_no_choice_may_be_left() -> None:
    # o1 goes with o0's a only, and o2 with its b only.
    operators = chain_of(((1, 0, 1), (1, 0, 1)), ((1, 0, 1),))
    third = replace(operators[1], name="o2")
    graph = ShardedGraph(
        "g",
        (*operators, third),
        (
            Resharding("o0", "o1", ((0,), (None,))),
            Resharding("o0", "o2", ((None,), (0,))),
        ),
    )
    assert presolve_sharding(RematSharding(graph, 100)) is None


def test_a_plan_is_restored_with_the_places_of_the_given_graph() -> None:
    forbidden = Strategy(name="no", compute_ns=None, memory_bytes=1)
    (operator,) = chain_of(((2, 0, 4),))
    graph = ShardedGraph("g", (replace(operator, strategies=(forbidden, *operator.strategies)),))
    presolved = presolve_sharding(RematSharding(graph, 100))
    assert presolved is not None
    plan = ShardedSchedule.from_computations(presolved.problem.instance, (0,), (0,))
    assert presolved.restore(plan).strategies == (1,)


@pytest.mark.parametrize("problems", [training_steps(41, 150), any_order(42, 150)])
def test_the_optimum_stays(problems: list[RematSharding]) -> None:
    removed = 0
    for problem in problems:
        presolved = presolve_sharding(problem)
        if presolved is None:
            assert not priced_choices(problem.instance)
            continue
        smaller = presolved.problem.instance
        removed += sum(len(o.strategies) for o in problem.instance.operators)
        removed -= sum(len(o.strategies) for o in smaller.operators)
        best = best_staged_plan(problem.instance, problem.memory_bytes)
        same = best_staged_plan(smaller, problem.memory_bytes)
        assert (best is None) == (same is None)
        if best is not None and same is not None:
            assert best.time_ns == same.time_ns
    assert removed > 50


def test_a_plan_is_found_again_in_the_smaller_problem_unless_its_strategy_is_gone() -> None:
    graph = ShardedGraph("g", chain_of(((2, 0, 4), (3, 0, 4), (5, 0, 1), (1, 1, 4))))
    presolved = presolve_sharding(RematSharding(graph, 100))
    assert presolved is not None
    # a and c are left, as in the first test.
    plan = ShardedSchedule.from_computations(graph, [2], [0])
    reduced = presolved.reduce(plan)
    assert reduced is not None
    assert reduced.strategies == (1,)
    assert presolved.restore(reduced) == plan
    assert presolved.reduce(ShardedSchedule.from_computations(graph, [1], [0])) is None
