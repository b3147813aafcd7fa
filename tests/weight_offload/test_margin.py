"""The sweep over margins, and the simple bound that ends it."""

from __future__ import annotations

import pytest

from jettison.instances.generators.published_transformers import (
    PUBLISHED_ROWS,
    PublishedRow,
    published_chain,
)
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_ns
from jettison.solvers.weight_offload.margin_sweep import MarginParams, margins_bytes
from tests.weight_offload.cases import chain_of, random_problems

TIGHT = WeightOffload(chain_of(*[(10, 20, 100)] * 12), "40%", "2GB/s")


@pytest.mark.parametrize("row", PUBLISHED_ROWS, ids=lambda row: row.name)
def test_a_margin_removes_all_waiting_from_table_1(row: PublishedRow) -> None:
    problem = WeightOffload(published_chain(row), f"{row.memory_mib}MiB", "12000MiB/s")
    assert solve(problem, "margin-sweep").time_ns == problem.instance.base_time_ns


def test_it_is_never_slower_than_greedy_or_layer_to_layer() -> None:
    for problem in random_problems(60, seed=5):
        times = [
            solve_with(problem, method, SolveOptions(gap=0)).time_ns or 0
            for method in ("margin-sweep", "greedy", "l2l")
        ]
        assert times[0] == min(times)


def test_margins_are_half_a_layer_apart_up_to_what_can_be_spared() -> None:
    # 12 layers of 100 bytes and a gradient: 1300 bytes; the least is 200, 40 % are 520.
    assert list(margins_bytes(TIGHT)) == [0, 50, 100, 150, 200, 250, 300]
    sizes = [(1, 1, 1)] * 20 + [(1, 1, 10_000)] * 3
    large = WeightOffload(chain_of(*sizes), "90%", "1GB/s")
    assert len(margins_bytes(large)) <= 401
    assert len(margins_bytes(large, MarginParams(most_margins=5))) <= 6


def test_the_floor_is_below_every_schedule_and_counts_what_has_to_come_back() -> None:
    for problem in random_problems(60, seed=6):
        for method in ("greedy", "l2l", "margin-sweep"):
            assert closed_form_ns(problem) <= (solve(problem, method).time_ns or 0)
    # 1300 bytes of 520: 780 have to be absent at B_12 and at B_1.
    # Whole layers are: 800 each time.
    assert closed_form_ns(TIGHT) == 800


def test_progress_is_told_and_interrupts_keep_the_best_so_far() -> None:
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    result = solve_with(TIGHT, "margin-sweep", SolveOptions(gap=0, on_progress=interrupt))
    assert result.termination is Termination.INTERRUPTED
    assert result.time_ns == seen[-1].time_ns
    assert all((item.lower_bound_ns or 0) <= (item.time_ns or 0) for item in seen)


def test_a_time_limit_leaves_layer_to_layer_at_least() -> None:
    result = solve_with(TIGHT, "margin-sweep", SolveOptions(time_limit_s=1e-9))
    assert result.termination is Termination.TIME_LIMIT
    assert result.time_ns == solve(TIGHT, "l2l").time_ns
