"""Rounding of Checkmate's relaxation: thresholds, draws, limits."""

from __future__ import annotations

import pytest

from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.instances.core.errors import InputError
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.remat_graph.baselines.lp_rounding import (
    LpRoundingParams,
    relaxed_shares,
    round_by_draws,
    round_by_thresholds,
    solve_lp_rounding,
)
from tests.tiny import SKIP


def test_a_threshold_stores_what_is_above_it() -> None:
    # a has a share of 0.5 when d's stage begins: up to the threshold 0.45 it stays, from 0.55 on
    # it is recomputed. Equal choices in a row are made once, so there are two.
    shares = ({}, {0: 1.0}, {0: 0.5, 1: 1.0}, {0: 0.5, 2: 1.0})
    found = [schedule.computations for schedule in round_by_thresholds(SKIP, shares)]
    assert found == [(0, 1, 2, 3), (0, 1, 2, 0, 3)]


def test_one_threshold_is_a_setting() -> None:
    shares = ({}, {0: 1.0}, {0: 0.5, 1: 1.0}, {0: 0.5, 2: 1.0})
    for thresholds, computed in (
        ("0.5", (0, 1, 2, 0, 3)),
        ("0.499", (0, 1, 2, 3)),
        ("0", (0, 1, 2, 3)),
    ):
        chosen = LpRoundingParams(thresholds=thresholds).threshold_list
        (schedule,) = round_by_thresholds(SKIP, shares, chosen)
        assert schedule.computations == computed


def test_the_paper_s_settings_solve_one_relaxation_and_round_it_once() -> None:
    graph = LayeredGraphs(nodes=20, passes=Passes.TRAINING).draw(1)
    problem = RematGraph(graph, "85%")
    params = LpRoundingParams(thresholds="0.5", draws=0, allowances="0.1")
    outcome = solve_lp_rounding(problem, SolveOptions(time_limit_s=None), params)
    assert (outcome.work["relaxations"], outcome.work["plans"]) == (1, 1)
    every = solve_lp_rounding(problem, SolveOptions(time_limit_s=None))
    assert every.work["relaxations"] > 1
    assert isinstance(outcome.schedule, GraphSchedule)
    assert isinstance(every.schedule, GraphSchedule)
    once = outcome.schedule.replay(graph, problem.memory_bytes)
    best = every.schedule.replay(graph, problem.memory_bytes)
    assert once.valid
    # Here the paper's one rounding fits, and is worse than the best of many.
    assert best.time_ns < once.time_ns


def test_an_allowance_is_memory_that_the_relaxation_does_without() -> None:
    # In 7 of 8 bytes the relaxation has a solution; the largest operation takes 7.
    params = LpRoundingParams(allowances="0.2")
    outcome = solve_lp_rounding(RematGraph(SKIP, 7), SolveOptions(), params)
    assert outcome.note == "the linear relaxation has no solution in this memory"
    assert solve_lp_rounding(RematGraph(SKIP, 7), SolveOptions()).schedule is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("thresholds", "1"),
        ("thresholds", "0.5;0.6"),
        ("thresholds", "0.6,0.5"),
        ("thresholds", "0.5,0.5"),
        ("thresholds", "-0.1"),
        ("thresholds", "nan"),
        ("thresholds", "0.5,"),
        ("allowances", ""),
        ("allowances", "100%"),
        ("draws", -1),
    ],
)
def test_a_wrong_list_is_named(field: str, value: str | int) -> None:
    with pytest.raises(InputError, match=field):
        LpRoundingParams().with_values({field: value})


def test_the_shares_of_a_relaxation_are_of_earlier_nodes_and_at_most_whole() -> None:
    shares = relaxed_shares(RematGraph(SKIP, 7))
    assert len(shares) == 4
    for stage, stored in enumerate(shares):
        assert all(node < stage and 0 < share <= 1 + 1e-9 for node, share in stored.items())
    with pytest.raises(SolverError):
        relaxed_shares(RematGraph(SKIP, 6))


def test_nothing_to_try_is_refused() -> None:
    with pytest.raises(InputError, match="neither a threshold nor a draw"):
        LpRoundingParams(thresholds="", draws=0)
    assert LpRoundingParams(thresholds="").threshold_list == ()


def test_what_the_relaxation_stores_wholly_or_not_at_all_is_not_left_to_chance() -> None:
    assert list(round_by_draws(SKIP, ({}, {0: 1.0}, {1: 1.0}, {2: 1.0}), 0)) == []


def test_draws_follow_the_shares_and_the_seed() -> None:
    shares = ({}, {0: 1.0}, {0: 1.0, 1: 1.0}, {0: 0.25, 2: 1.0})
    drawn = list(round_by_draws(SKIP, shares, 1))
    assert len(drawn) == 50
    assert drawn == list(round_by_draws(SKIP, shares, 1))
    assert drawn != list(round_by_draws(SKIP, shares, 2))
    stored = sum(schedule.computations == (0, 1, 2, 3) for schedule in drawn)
    # Of 50 draws at 1/4: 12.5 expected, deviation 3.1.
    assert 3 < stored < 22
    assert {schedule.computations for schedule in drawn} == {(0, 1, 2, 3), (0, 1, 2, 0, 3)}


def test_on_a_training_step_it_is_within_the_bound_and_the_memory() -> None:
    graph = LayeredGraphs(nodes=20, passes=Passes.TRAINING).draw(3)
    problem = RematGraph(graph, "85%")
    result = solve_with(problem, "lp-rounding", SolveOptions(time_limit_s=30))
    bound = solve_with(problem, "checkmate-lp", SolveOptions(time_limit_s=30))
    assert result.peak_bytes is not None
    assert result.peak_bytes <= problem.memory_bytes
    assert result.time_ns is not None
    assert bound.lower_bound_ns is not None
    assert bound.lower_bound_ns <= result.time_ns


def test_where_everything_fits_no_relaxation_is_solved() -> None:
    outcome = solve_lp_rounding(RematGraph(SKIP, 8), SolveOptions())
    assert outcome.schedule is not None
    assert outcome.schedule.computations == (0, 1, 2, 3)
    assert not outcome.work


def test_a_memory_without_a_solution_is_named() -> None:
    outcome = solve_lp_rounding(RematGraph(SKIP, 6), SolveOptions())
    assert outcome.termination is Termination.COMPLETED
    assert outcome.note == "the linear relaxation has no solution in this memory"


def test_a_model_that_takes_longer_to_write_than_there_is_time_is_declined() -> None:
    graph = LayeredGraphs(nodes=200).draw(0)
    outcome = solve_lp_rounding(RematGraph(graph, "90%"), SolveOptions(time_limit_s=0.01))
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is None
    assert outcome.note is not None
    assert "to write down" in outcome.note


def test_a_model_that_leaves_no_time_to_solve_it_is_declined() -> None:
    graph = LayeredGraphs(nodes=100).draw(0)
    # Two thirds of this are too little to solve what takes half of it to write.
    writing_s = Checkmate().estimated_coefficients(graph) * 1e-5
    outcome = solve_lp_rounding(RematGraph(graph, "90%"), SolveOptions(time_limit_s=2 * writing_s))
    assert outcome.termination is Termination.TIME_LIMIT
    assert not outcome.work
    assert outcome.note is not None
    assert "to write down" in outcome.note
