"""Alpa's integer program, as it is read and as it is run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jettison import Sharding, StrategyGraph
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.sharding.alpa_ilp import alpa_ilp
from jettison.formulations.sharding.ilp import ShardingIlp, sharding_ilp
from jettison.formulations.sharding.pairwise_choice import Limit, PairwiseChoice
from jettison.formulations.sharding.peak import sharding_peak
from jettison.sharding import StrategyChoice, StrategyEdge, StrategyNode
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from tests.each import each
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph


def node(name: str, *strategies: tuple[int | None, int]) -> StrategyNode:
    """A node that is live in [0, 1), of (cost, usage) by strategy."""
    costs, usages = zip(*strategies, strict=True)
    return StrategyNode(name=name, interval=(0, 1), costs_ns=costs, usages_bytes=usages)


# Whichever is cheap at one end, resharding to the other costs 5: 0 + 1 + 0 on the diagonal.
PAIR = StrategyGraph(
    "pair",
    (node("a", (0, 2), (1, 1)), node("b", (1, 1), (0, 2))),
    (StrategyEdge(first="a", second="b", costs_ns=(0, 5, 5, 0)),),
)


def solved(model: ArrayModel) -> ModelSolution:
    return solve_model(model, HighsOptions(gap=0, feasibility_tolerance=1e-9))


def array_model(problem: Sharding) -> ShardingIlp:
    return sharding_ilp(PairwiseChoice.of(problem))


@each(seed=range(40))
def test_both_models_have_the_optimum_of_the_brute_force(seed: int) -> None:
    graph = random_graph(seed, most_nodes=5)
    for memory in {least_peak(graph) or 0, graph.usage_sum_bytes}:
        problem = Sharding(graph, memory)
        expected = least_cost(graph, memory)
        built = array_model(problem)
        fast, read = solved(built.model), solved(from_pulp(alpa_ilp(problem)).model)
        if expected is None:
            assert fast.answer is Answer.INFEASIBLE
            assert read.answer is Answer.INFEASIBLE
            continue
        assert fast.objective is not None
        assert read.objective is not None
        assert built.offset + built.cost_scale.from_model(fast.objective) == expected
        assert round(read.objective) == expected
        assert fast.values is not None
        replay = StrategyChoice(built.choice(fast.values)).replay(graph, memory)
        assert replay.valid
        assert replay.time_ns == expected


def test_every_row_of_the_docstring_is_in_both_models() -> None:
    problem = Sharding(PAIR, 3)
    for model in (array_model(problem).model, from_pulp(alpa_ilp(problem)).model):
        words = {name.split("_")[0] for name in model.row_names}
        assert words == {"one", "from", "to", "memory"}


def test_inequalities_at_the_edges_would_make_resharding_free() -> None:
    problem = Sharding(PAIR, 4)
    model = array_model(problem).model
    # With equalities 1 is the least, as (0, 0) and (1, 1) show.
    right = solved(model)
    assert right.objective is not None
    scale = array_model(problem).cost_scale
    assert scale.from_model(right.objective) == 1
    # The <= of KIWI's (22) and (23) lets e be zero, and a and b each take what costs nothing: 0.
    lower = model.row_lower.copy()
    of_edges = np.array([name.startswith(("from", "to")) for name in model.row_names])
    lower[of_edges] = -np.inf
    wrong = solved(replace(model, row_lower=lower))
    assert wrong.objective == 0


def test_no_column_of_a_model_stands_for_something_forbidden() -> None:
    graph = StrategyGraph(
        "forbidden",
        (node("a", (0, 0), (None, 0)), node("b", (1, 0), (2, 0))),
        (StrategyEdge(first="a", second="b", costs_ns=(None, 3, 4, 5)),),
    )
    model = array_model(Sharding(graph, 0)).model
    assert model.column_names == ("s_0_0", "s_1_0", "s_1_1", "e_0_1_0_1")
    assert max(abs(model.objective)) < 1024


def test_the_edge_columns_are_integral_when_the_strategies_are() -> None:
    for seed in range(20):
        graph = random_graph(seed, most_nodes=5)
        built = array_model(Sharding(graph, graph.usage_sum_bytes))
        values = solved(built.model).values
        if values is None:
            continue
        chosen = built.choice(values)
        for name, value in zip(built.model.column_names, values.tolist(), strict=True):
            if name.startswith("e_"):
                first, second, a, b = map(int, name.split("_")[1:])
                expected = float((chosen[first], chosen[second]) == (a, b))
                assert value == pytest.approx(expected, abs=1e-6)


def test_a_limit_loses_the_least_usage_of_each_node_on_both_sides() -> None:
    # 10 less 3 and 2; node 1 has no choice and goes.
    limit = Limit.less_least("t", 10, {0: (3, 5), 1: (2, 2)})
    assert (limit.capacity, limit.usages) == (5, {0: (0, 2)})


def test_a_cover_forbids_strategies_that_are_too_much_together() -> None:
    data = PairwiseChoice([(0, 5), (0, 7)], {})
    free = sharding_ilp(data)
    covered = sharding_ilp(data, [((0, 0), (1, 0))])
    assert solved(free.model).objective == 0
    found = solved(covered.model)
    assert found.objective is not None
    # Not both take their strategy 0; the cheaper other one costs 5.
    assert covered.cost_scale.from_model(found.objective) == 5


@each(seed=range(20))
def test_the_least_peak_is_that_of_the_brute_force(seed: int) -> None:
    graph = random_graph(seed, most_nodes=5)
    # Only rows that can be exceeded are in the model: in one byte all that use anything are.
    memory = 0
    built = sharding_peak(PairwiseChoice.of(Sharding(graph, memory)), memory)
    found = solved(built.model)
    expected = least_peak(graph)
    if expected is None:
        assert found.answer is Answer.INFEASIBLE
    else:
        assert found.objective is not None
        assert built.bytes_scale.from_model(found.objective) == expected
