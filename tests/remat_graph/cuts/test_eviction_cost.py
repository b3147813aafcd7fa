"""Least cost of the memory at each stage of a graph, by a knapsack."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison.formulations.remat_graph.windows.presets import SingleCut
from jettison.instances.generators.training_networks import NETWORKS
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.cuts.eviction_cost import StageCost, eviction_costs
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from tests.drawing.graphs import graphs
from tests.tiny import SKIP


def test_a_part_of_the_cheapest_value_is_charged_where_a_part_is_too_much() -> None:
    # At c there are 8 bytes, and only a, 3 bytes and 2 ns, is not needed; elsewhere all fits.
    assert eviction_costs(SKIP, 7) == {2: StageCost(1, pytest.approx(2 / 3))}
    assert eviction_costs(SKIP, 6) == {
        1: StageCost(1, math.inf),
        2: StageCost(2, pytest.approx(4 / 3)),
    }
    assert eviction_costs(SKIP, 6)[2].ns_per_byte == pytest.approx(2 / 3)
    assert eviction_costs(SKIP, 8) == {}


def test_a_stage_whose_own_need_does_not_fit_costs_infinitely_much() -> None:
    # b and c are 5 bytes; b and its input a are 7.
    costs = eviction_costs(SKIP, 4)
    assert {stage: cost.cost_ns for stage, cost in costs.items()} == {
        1: math.inf,
        2: math.inf,
        3: math.inf,
    }


@given(graphs(), st.integers(1, 40))
def test_the_knapsack_is_at_most_what_one_cut_proves(graph: Graph, memory_bytes: int) -> None:
    problem = RematGraph(graph, memory_bytes)
    costs = eviction_costs(graph, memory_bytes)
    assert costs.keys() == StageExcess(graph, memory_bytes, range(len(graph))).first_bytes.keys()
    for stage, cost in costs.items():
        built = SingleCut(stage).build(problem)
        solution = solve_model(built.model, HighsOptions(gap=0))
        if solution.answer is Answer.INFEASIBLE:
            continue
        assert solution.dual_bound is not None
        assert cost.cost_ns <= built.time_scale.bound_from_model(solution.dual_bound) + 1e-6


def test_the_dearest_stage_of_a_network_is_not_the_one_with_most_bytes() -> None:
    graph = NETWORKS["u-net"](32)
    problem = RematGraph(graph, "70%")
    costs = eviction_costs(graph, problem.memory_bytes)
    dearest = max(costs, key=lambda stage: costs[stage].cost_ns)
    excess = StageExcess(graph, problem.memory_bytes, range(len(graph)))
    most_bytes = excess.worst_stages()[0]

    def proved_ns(stage: int) -> int:
        built = SingleCut(stage).build(problem)
        bound = solve_model(built.model, HighsOptions(gap=0)).dual_bound
        assert bound is not None
        return built.time_scale.bound_from_model(bound)

    assert proved_ns(dearest) > 10 * proved_ns(most_bytes)
