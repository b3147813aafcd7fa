"""Local search over choices and the order of transfers."""

from __future__ import annotations

import math
import time

import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.weight_offload import bound_guided as weight_bound_guided
from jettison.solvers.weight_offload.exact.restarts import STARTS
from tests.weight_offload.cases import chain_of, random_problems
from tests.weight_offload.cyclic_events import layers

WITHOUT_LIMIT = SolveOptions(gap=0, time_limit_s=None)
OTHERS = ("margin-sweep", "greedy", "greedy-no-discount", "l2l")
TIGHT = WeightOffload(chain_of(*[(10, 20, 100)] * 12), "40%", "2GB/s")


def test_its_schedules_are_valid_and_never_slower_than_those_of_the_others() -> None:
    faster = 0
    for problem in random_problems(40, seed=7):
        options = SolveOptions(gap=0, time_limit_s=None)
        result = solve_with(problem, "local-search", options)
        assert result.replay is not None
        assert result.replay.valid
        assert result.time_ns is not None
        best = min(solve_with(problem, method, options).time_ns or 0 for method in OTHERS)
        assert problem.instance.base_time_ns <= result.time_ns <= best
        faster += result.time_ns < best
    assert faster > 10


def test_a_step_that_leaves_weights_elsewhere_than_it_found_them_is_none() -> None:
    # Orders are tried here whose first step never deletes the weights of layer 1, and after which
    # no step is like the one before.
    cycle = layers((4, 6, 1, 5), (1, 6, 2, 6), (4, 7, 2, 3), (1, 8, 1, 3), (4, 6, 2, 5))
    problem = WeightOffload(cycle.chain, 26, "500MB/s")
    result = solve_with(problem, "local-search", SolveOptions(gap=0, time_limit_s=None))
    assert result.replay is not None
    assert result.replay.valid


def test_it_removes_waiting_that_no_margin_removes() -> None:
    # GPT-2 38, 16 at 2 GB/s: greedy waits for 29 % of the step, margins for 15 %.
    row = PUBLISHED_ROWS[8]
    problem = WeightOffload(published_chain(row), f"{row.memory_mib}MiB", "2000MiB/s")
    result = solve(problem, "local-search")
    assert result.status == "optimal"
    assert result.time_ns == problem.instance.base_time_ns
    assert (solve(problem, "margin-sweep").time_ns or 0) > 1.1 * problem.instance.base_time_ns


def test_a_seed_gives_the_same_schedule_again() -> None:
    options, params = SolveOptions(seed=5, time_limit_s=None), {"starts_without_limit": 1}
    first, again = (solve_with(TIGHT, "local-search", options, params) for _ in range(2))
    assert first.schedule == again.schedule
    assert first.work == again.work
    assert first.work["changes"] > 0


def test_progress_is_told_and_interrupts_keep_the_best_so_far() -> None:
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 30:
            raise KeyboardInterrupt

    result = solve_with(TIGHT, "local-search", SolveOptions(gap=0, on_progress=interrupt))
    assert result.termination is Termination.INTERRUPTED
    assert result.time_ns == seen[-1].time_ns
    assert result.work["changes"] > 0


def test_where_it_ends_by_itself_with_an_open_gap_a_note_says_what_ended_it() -> None:
    is_open = 0
    for problem in random_problems(2, seed=2):
        result = solve_with(problem, "local-search", SolveOptions(gap=0, time_limit_s=None))
        assert result.termination is Termination.COMPLETED
        if result.time_ns == result.lower_bound_ns:
            assert result.note is None
        else:
            is_open += 1
            assert result.note is not None
            assert result.work["new_steps"] >= STARTS.starts_without_limit
            assert "steps from new starts were no better" in result.note
    assert is_open


def test_where_a_bound_is_not_met_it_uses_the_time_that_it_is_given() -> None:
    # It proves 90 ns, and no step takes less than 95.
    problem = next(
        problem
        for problem in random_problems(9, seed=2)
        if solve_with(problem, "local-search", WITHOUT_LIMIT).note is not None
    )
    started = time.perf_counter()
    result = solve_with(problem, "local-search", SolveOptions(gap=0, time_limit_s=1))
    assert result.termination is Termination.TIME_LIMIT
    assert result.note is None
    assert result.work["new_steps"] > 0
    assert time.perf_counter() - started > 0.9
    known = solve_with(problem, "local-search", SolveOptions(gap=0, time_limit_s=0.2))
    assert result.time_ns is not None
    assert known.time_ns is not None
    assert result.time_ns <= known.time_ns


def test_no_clock_is_a_part_of_what_bound_guided_finds_without_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[tuple[float | None, int | None]] = []

    def noted(model: ArrayModel, options: HighsOptions) -> ModelSolution:
        limits.append((options.time_limit_s, options.work_limit if model.integer.any() else 0))
        return solve_in_time(model, options)

    monkeypatch.setattr(weight_bound_guided, "solve_in_time", noted)
    solve_with(TIGHT, "bound-guided", WITHOUT_LIMIT)
    assert limits
    assert {time_s for time_s, _ in limits} == {math.inf}
    assert None not in {work for _, work in limits}


def test_a_gap_that_was_asked_for_is_not_called_the_end_of_the_search() -> None:
    result = solve_with(TIGHT, "local-search", SolveOptions(gap=0.9, time_limit_s=None))
    assert result.termination is Termination.GAP_REACHED
    assert result.note is None


def test_a_time_limit_leaves_a_schedule() -> None:
    result = solve_with(TIGHT, "local-search", SolveOptions(gap=0, time_limit_s=1e-9))
    assert result.termination is Termination.TIME_LIMIT
    assert result.replay is not None
    assert result.replay.valid
