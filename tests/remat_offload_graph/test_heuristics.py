"""Heuristics on graphs with a link: between the optimum and their baselines, and always valid."""

from __future__ import annotations

import random

import jettison as jt
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_offload_graph.choice_annealing import (
    ChoiceAnnealParams,
    solve_choice_annealing,
)
from jettison.solvers.remat_offload_graph.everything_away import everything_offloaded
from jettison.solvers.remat_offload_graph.eviction import EvictionChoices, decoded
from jettison.solvers.remat_offload_graph.plan_time import PlanTimer
from tests.drawing.graphs import random_graph, tight
from tests.remat_offload_graph.cases import tiny_problem


def test_whatever_is_chosen_a_plan_that_is_decoded_fits() -> None:
    chance = random.Random(1)
    found = 0
    for seed in range(200):
        problem = tiny_problem(chance, 8)
        graph = problem.instance
        for share in (0.0, 0.4):
            choices = EvictionChoices(
                tuple(range(len(graph))),
                frozenset(i for i in range(len(graph)) if chance.random() < share),
                tuple(chance.choice((0.5, 1.0, 2.0)) for _ in graph.nodes),
                chance.choice((0.0, 1.0, 3.0, 50.0)),
            )
            schedule = decoded(problem, choices)
            # Where every value moves, some plan fits wherever one operation does.
            if share == 0 and all(node.offload for node in graph.nodes):
                assert schedule is not None, seed
            if schedule is not None:
                replay = schedule.replay(graph, problem.link, problem.memory_bytes)
                assert replay.valid, seed
                # The timer of searches says the same as the replay.
                assert PlanTimer(problem).time_ns(schedule.operations) == replay.time_ns, seed
                found += bool(schedule.transfers)
    assert found > 100


def test_everything_away_fits_in_the_least_memory_of_every_graph_that_moves() -> None:
    chance = random.Random(2)
    for _ in range(100):
        graph = random_graph(chance, chance.randint(1, 9))
        problem = RematOffloadGraph(graph, graph.least_peak_bound_bytes, 10**9)
        replay = everything_offloaded(problem).replay(graph, problem.link, problem.memory_bytes)
        assert replay.valid
        assert replay.peak_bytes == graph.least_peak_bound_bytes


def test_no_method_is_faster_than_exact_and_anneal_is_no_slower_than_any() -> None:
    chance = random.Random(3)
    compared = 0
    for _ in range(20):
        problem = tiny_problem(chance, 7)
        exact = jt.solve(problem, method="exact")
        if exact.time_ns is None or exact.time_ns == problem.base_time_ns:
            continue
        times = {
            method.name: solve_with(problem, method.name, SolveOptions()).time_ns
            for method in methods_of(problem.problem)
        }
        known = [time_ns for time_ns in times.values() if time_ns is not None]
        assert min(known) == exact.time_ns == times["anneal"]
        compared += 1
    assert compared > 3


def test_annealing_alone_starts_from_the_baselines_and_betters_them() -> None:
    # Without the search over moments that a small graph begins with.
    params = ChoiceAnnealParams(states_first=1, rounds=2, plans_of_a_round=40)
    better = 0
    for seed in (20, 21):
        given = tight(random.Random(seed), 14)
        problem = RematOffloadGraph(given.instance, given.memory_bytes, 10**9)
        outcome = solve_choice_annealing(problem, SolveOptions(time_limit_s=None), params)
        assert outcome.schedule is not None
        time_ns = outcome.schedule.replay(
            problem.instance, problem.link, problem.memory_bytes
        ).time_ns
        best = min(
            found.time_ns
            for name in ("no-recompute", "no-transfer", "greedy", "autocapper", "offload-all")
            if (found := jt.solve(problem, method=name)).time_ns is not None
        )
        assert time_ns <= best
        better += time_ns < best
    assert better > 0


def test_a_limit_of_time_and_a_start_are_kept() -> None:
    given = tight(random.Random(5), 9)
    problem = RematOffloadGraph(given.instance, given.memory_bytes, 5 * 10**8)
    start = jt.solve(problem, method="anneal")
    for method in ("anneal", "exact", "no-recompute", "greedy", "autocapper", "poet"):
        again = jt.solve(problem, method=method, time_limit=0.001, start=start.schedule)
        assert again.time_ns is not None
        assert start.time_ns is not None
        assert again.time_ns <= start.time_ns
