"""Every planner on hundreds of random training steps, judged by the replay."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.remat_graph import GraphSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.planners.selective import (
    solve_selective_attention,
    solve_selective_blocks,
    solve_selective_products,
)
from jettison.solvers.remat_graph.planners.torch_min_cut import (
    IntegerBudgetParams,
    solve_torch_dynamic,
    solve_torch_greedy,
    solve_torch_integer,
)
from jettison.solvers.remat_graph.planners.xla_greedy import solve_xla_greedy
from tests.drawing.named_steps import layered_step, named_step, tight_named_step

Solve = Callable[[RematGraph, SolveOptions], Outcome]
OPTIONS = SolveOptions(time_limit_s=None)
FEW = IntegerBudgetParams(most_budgets=3)
BY_OPERATORS: dict[str, Solve] = {
    "torch-min-cut-dp": solve_torch_dynamic,
    "torch-min-cut-greedy": solve_torch_greedy,
    "torch-min-cut-ilp": partial(solve_torch_integer, params=FEW),
    "selective-products": solve_selective_products,
    "selective-attention": solve_selective_attention,
}
BETWEEN_PASSES = {**BY_OPERATORS, "selective-blocks": solve_selective_blocks}
PLANNERS = {**BETWEEN_PASSES, "xla-greedy": solve_xla_greedy}


def steps(seed: int, count: int) -> list[RematGraph]:
    """Draw steps of any shape, and every fourth of equal layers."""
    chance = random.Random(seed)
    found = []
    for case in range(count):
        if case % 4:
            found.append(tight_named_step(chance, chance.randint(2, 12), breaks=0.1))
        else:
            graph = layered_step(chance, chance.randint(2, 3))
            found.append(RematGraph(graph, f"{chance.randint(45, 100)}%"))
    return found


@pytest.mark.parametrize("name", PLANNERS)
def test_it_never_needs_more_memory_than_there_is_and_repeats_itself(name: str) -> None:
    found = 0
    for case, problem in enumerate(steps(11, 30)):
        outcome = PLANNERS[name](problem, OPTIONS)
        assert outcome == PLANNERS[name](problem, OPTIONS), case
        if outcome.schedule is None:
            assert outcome.note, case
            continue
        found += 1
        assert isinstance(outcome.schedule, GraphSchedule)
        replay = outcome.schedule.replay(problem.instance, problem.memory_bytes)
        assert replay.valid, (case, replay.violations)
    assert found > 2


def test_in_enough_memory_a_rule_computes_nothing_again() -> None:
    chance = random.Random(12)
    for case in range(12):
        graph = layered_step(chance, 3)
        problem = RematGraph(graph, graph.store_all_peak_bytes)
        for name, solve in PLANNERS.items():
            outcome = solve(problem, OPTIONS)
            assert isinstance(outcome.schedule, GraphSchedule), (case, name)
            if not name.startswith("torch"):
                assert outcome.schedule.replay(graph).time_ns == graph.base_time_ns, (case, name)


@pytest.mark.parametrize("name", BETWEEN_PASSES)
def test_without_marks_of_the_backward_pass_it_says_why_it_does_not_apply(name: str) -> None:
    graph = named_step(random.Random(3), 8)
    outcome = BETWEEN_PASSES[name](RematGraph(_changed(graph, backward=False), "90%"), OPTIONS)
    assert outcome.schedule is None
    assert f"{name} chooses what is saved between" in (outcome.note or "")


@pytest.mark.parametrize("name", BY_OPERATORS)
def test_without_names_of_operators_it_says_why_it_does_not_apply(name: str) -> None:
    graph = named_step(random.Random(3), 8)
    outcome = BY_OPERATORS[name](RematGraph(_changed(graph, operator_name=None), "90%"), OPTIONS)
    assert outcome.schedule is None
    assert f"{name} goes by the operators of the forward pass" in (outcome.note or "")
    assert "'f0' first, have no operator_name" in (outcome.note or "")


def _changed(graph: Graph, **fields: object) -> Graph:
    nodes = (replace(node, **fields) for node in graph.nodes)  # type: ignore[arg-type]
    return replace(graph, nodes=tuple(nodes))
