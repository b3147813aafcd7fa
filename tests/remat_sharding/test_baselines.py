"""Sharding after recomputation was decided, beside every choice of strategies."""

from __future__ import annotations

from itertools import product

import pytest

from jettison import InputError, RematSharding, ShardedGraph
from jettison.remat_sharding import Operator, Role, ShardedSchedule
from jettison.schedules.remat_sharding.elementwise_recomputation import recomputing
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from tests.remat_sharding.samples import training_steps
from tests.remat_sharding.tiny_sharded import TWO_LAYERS, strategies_of

EXACT = SolveOptions(time_limit_s=20, gap=0)
METHODS = ("alpa", "alpa-checkpoint-dots", "alpa-selective", "alpa-recompute-all")


def least_ns(problem: RematSharding, computations: tuple[int, ...]) -> int | None:
    """Least time of any strategies that fit, with these computations."""
    graph = problem.instance
    times = []
    for places in product(*(range(len(graph.operators[g[0]].strategies)) for g in graph.groups)):
        of = {g[0]: place for g, place in zip(graph.groups, places, strict=True)}
        strategies = [of[leader] for leader in graph.leader]
        try:
            plan = ShardedSchedule.from_computations(graph, strategies, computations)
        except InputError:
            continue
        replay = plan.replay(graph, problem.memory_bytes)
        if replay.valid:
            times.append(replay.time_ns)
    return min(times, default=None)


def test_the_strategies_are_the_fastest_that_fit() -> None:
    for problem in training_steps(21, 30):
        graph = problem.instance
        forward = {i for i, item in enumerate(graph.operators) if item.role is Role.FORWARD}
        for method, dropped in (("alpa", set()), ("alpa-recompute-all", forward)):
            result = solve_with(problem, method, EXACT)
            assert result.time_ns == least_ns(problem, recomputing(graph, dropped))
            if result.time_ns is None:
                assert result.status == "not-found"


def test_no_baseline_is_faster_than_the_optimum() -> None:
    for problem in training_steps(22, 20):
        best = solve_with(problem, "exact", EXACT)
        for method in METHODS:
            found = solve_with(problem, method, EXACT).time_ns
            if found is not None:
                assert best.time_ns is not None
                assert best.time_ns <= found


def test_what_was_dropped_comes_back_with_all_that_it_needs() -> None:
    # h1, a1 and h2 are dropped: g2 needs h2 and a1, which need h1.
    assert recomputing(TWO_LAYERS, {3, 4, 5}) == (0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8)
    # a1 alone: before g2, from h1, which was kept.
    assert recomputing(TWO_LAYERS, {4}) == (0, 1, 2, 3, 4, 5, 4, 6, 7, 8)
    assert recomputing(TWO_LAYERS, set()) == tuple(range(9))


def marked(name: str, operation: str, scope: str, *inputs: str) -> Operator:
    return Operator(
        name=name,
        role=Role.FORWARD,
        inputs=inputs,
        operation=operation,
        scope=scope,
        strategies=strategies_of((2, 0, 3)),
    )


ATTENTION = ShardedGraph(
    "attention",
    (
        Operator(name="w", role=Role.PARAMETER, strategies=strategies_of((0, 0, 1))),
        marked("query", "dot_general", "layer0/attention", "w"),
        marked("scores", "dot_general", "layer0/attention", "query"),
        marked("softmax", "exp", "layer0/attention", "scores"),
        marked("out", "dot_general", "layer0/attention", "softmax", "w"),
        marked("act", "max", "layer0/mlp", "out"),
        Operator(
            name="back",
            role=Role.BACKWARD,
            inputs=("act", "out", "softmax", "scores", "query"),
            strategies=strategies_of((5, 0, 2)),
        ),
    ),
)


@pytest.mark.parametrize(
    ("method", "time_ns"),
    [
        # 5 forward operators of 2 ns and 5 ns.
        ("alpa", 15),
        # softmax and act again.
        ("alpa-checkpoint-dots", 19),
        # scores and softmax again: query and out read the weight.
        ("alpa-selective", 19),
        ("alpa-recompute-all", 25),
    ],
)
def test_a_rule_knows_what_it_drops(method: str, time_ns: int) -> None:
    problem = RematSharding(ATTENTION, 100)
    assert solve_with(problem, method, EXACT).time_ns == time_ns


def test_a_rule_that_finds_nothing_to_keep_or_to_drop_says_so() -> None:
    problem = RematSharding(TWO_LAYERS, 100)
    dots = solve_with(problem, "alpa-checkpoint-dots", EXACT)
    assert dots.status == "not-applicable"
    assert dots.note == "no forward operator is called a product of matrices"
    inside = solve_with(problem, "alpa-selective", EXACT)
    assert inside.note == "no forward operator stands in a scope of attention"
