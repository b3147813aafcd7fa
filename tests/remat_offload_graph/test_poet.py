"""POET's program: Checkmate's optimum without a link, and no faster than its own estimate."""

from __future__ import annotations

import random

import pytest

import jettison as jt
from jettison.formulations.remat_offload_graph.poet import Poet
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_offload_graph.poet_method import (
    PoetParams,
    schedule_of_plan,
    solve_poet,
)
from tests.drawing.graphs import tight
from tests.remat_graph.oracles.brute_force import least_staged_time_ns
from tests.remat_graph.result_graphs import graph_of_runs


def test_without_a_link_it_is_checkmates_optimum() -> None:
    chance = random.Random(1)
    for _ in range(40):
        given = tight(chance, 5)
        graph, memory_bytes = given.instance, given.memory_bytes
        solution = solve_model(
            Poet().build(RematOffloadGraph(graph, memory_bytes)).model, HighsOptions()
        )
        least_ns = least_staged_time_ns(graph, memory_bytes)
        if least_ns is None:
            assert solution.answer is Answer.INFEASIBLE
        else:
            assert solution.objective == pytest.approx(least_ns)


def test_its_schedules_are_valid_and_no_slower_than_without_overlap() -> None:
    chance = random.Random(2)
    moved = overlapped = 0
    for seed in range(60):
        given = tight(chance, 6)
        problem = RematOffloadGraph(given.instance, given.memory_bytes, 2 * 10**9)
        built = Poet().build(problem)
        solution = solve_model(built.model, HighsOptions())
        if solution.values is None:
            continue
        schedule = schedule_of_plan(problem, built, solution.values)
        replay = schedule.replay(given.instance, problem.link, given.memory_bytes)
        assert replay.valid, (seed, replay.violations)
        assert solution.objective is not None
        assert replay.time_ns <= solution.objective + 1e-6
        moved += bool(schedule.transfers)
        overlapped += replay.time_ns < solution.objective - 1e-6
    assert moved > 10
    assert overlapped > 5


def test_a_deadline_and_costs_of_copies_lead_to_other_plans() -> None:
    given = tight(random.Random(3), 6)
    problem = RematOffloadGraph(given.instance, given.memory_bytes, 2 * 10**9)

    def cost(form: Poet) -> float | None:
        return solve_model(form.build(problem).model, HighsOptions()).objective

    plain, free = cost(Poet()), cost(Poet(transfer_weight=0.0))
    assert plain is not None
    assert free is not None
    assert free <= plain
    once = cost(Poet(deadline=1.0))
    assert once is None or once >= plain


def test_large_graphs_and_operators_with_several_results_are_declined() -> None:
    runs = next(graph for seed in range(20) if (graph := graph_of_runs(seed)).results_after)
    refused = solve_poet(RematOffloadGraph(runs, "100%", 10**9), SolveOptions())
    assert refused.termination is Termination.NOT_APPLICABLE
    given = tight(random.Random(4), 6)
    problem = RematOffloadGraph(given.instance, given.memory_bytes, 10**9)
    small = solve_poet(problem, SolveOptions(), PoetParams(most_nodes=5))
    assert small.termination is Termination.MEMORY_LIMIT
    assert jt.solve(problem, method="poet").time_ns is not None
