"""Common ground of both bounds for graphs: how they start, and that they end when told to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp import highs_in_time
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts import model_runs as graph_model_runs
from jettison.solvers.remat_graph.cuts.bound_method import bound_graph_cuts
from jettison.solvers.remat_graph.cuts.params import ExactParams
from jettison.solvers.remat_graph.orders.bound_method import AnyOrderParams, bound_any_order
from tests.core.bound_runs import EXACT, largest_ns, watched
from tests.tiny import SKIP

Method = Callable[[Problem, SolveOptions], Outcome]
both = pytest.mark.parametrize("bound", [bound_graph_cuts, bound_any_order])


@both
def test_where_everything_fits_nothing_is_solved(
    monkeypatch: pytest.MonkeyPatch, bound: Method
) -> None:
    monkeypatch.setattr(graph_model_runs, "solve_model", None)
    outcome = bound(RematGraph(SKIP, 8), EXACT)
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 5)


@both
def test_ctrl_c_keeps_what_is_proved(monkeypatch: pytest.MonkeyPatch, bound: Method) -> None:
    def pressed(run: int, solution: ModelSolution) -> ModelSolution:
        if run == 2:
            raise KeyboardInterrupt
        return solution

    # The first run is a relaxation: 5 ns, and a part of a again, rounded up.
    watched(monkeypatch, pressed)
    outcome = bound(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.INTERRUPTED
    assert largest_ns(outcome) > SKIP.base_time_ns


# For cuts the second run is the model with its integers, which proves the schedule that is known.
@pytest.mark.parametrize(
    ("bound", "run"),
    [(bound_graph_cuts, 1), (bound_graph_cuts, 2), *((bound_any_order, k) for k in range(1, 5))],
)
def test_ctrl_c_within_a_run_ends_all(
    monkeypatch: pytest.MonkeyPatch, bound: Method, run: int
) -> None:
    def interrupted(number: int, solution: ModelSolution) -> ModelSolution:
        assert number <= run
        if number == run:
            return replace(solution, termination=Termination.INTERRUPTED)
        return solution

    watched(monkeypatch, interrupted)
    outcome = bound(RematGraph(SKIP, 7), EXACT)
    assert outcome.termination is Termination.INTERRUPTED


@both
def test_the_time_limit_ends_it_with_a_bound(bound: Method) -> None:
    outcome = bound(RematGraph(SKIP, 7), replace(EXACT, time_limit_s=1e-9))
    assert (outcome.termination, largest_ns(outcome)) == (Termination.TIME_LIMIT, 5)


@both
def test_a_run_without_a_point_is_given_more_time(
    monkeypatch: pytest.MonkeyPatch, bound: Method
) -> None:
    nothing = ModelSolution(
        termination=Termination.TIME_LIMIT, answer=Answer.UNKNOWN, dual_bound=0.5, seconds=1.0
    )
    watched(monkeypatch, lambda run, solution: nothing if run < 8 else solution)
    outcome = bound(RematGraph(SKIP, 7), EXACT)
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 7)


@pytest.mark.parametrize(
    "bound",
    [
        partial(bound_graph_cuts, params=ExactParams(columns_for_a_child=1)),
        partial(bound_any_order, params=AnyOrderParams(columns_for_a_child=1)),
    ],
)
def test_a_large_model_is_solved_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, bound: Method
) -> None:
    def never(*_: Any, **__: Any) -> ModelSolution:
        raise AssertionError

    monkeypatch.setattr(highs_in_time, "solve_model", never)
    outcome = bound(RematGraph(SKIP, 7), replace(EXACT, time_limit_s=60))
    assert (outcome.termination, largest_ns(outcome)) == (Termination.COMPLETED, 7)


@both
def test_progress_never_falls(bound: Method) -> None:
    seen: list[Progress] = []
    outcome = bound(RematGraph(SKIP, 7), replace(EXACT, on_progress=seen.append))
    bounds = [progress.lower_bound_ns or 0 for progress in seen]
    assert all(earlier <= later for earlier, later in pairwise(bounds))
    assert bounds[-1] == largest_ns(outcome)
