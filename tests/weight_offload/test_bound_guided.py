"""Selections from bounds: valid schedules, better ones than the sweep, and a bound beside them."""

from __future__ import annotations

import random

import pytest

from jettison import Chain, WeightOffload, load
from jettison.remat_chain import Stage
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bound_guided import solve_bound_guided
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample


def identical_layers(count: int, bandwidth: int) -> WeightOffload:
    """Pose layers of 4 bytes that save 1, with 3 and 9 ns, in 60 % of the peak."""
    stages = tuple(
        Stage(
            name=f"layer {number}",
            forward_ns=3,
            backward_ns=9,
            output_bytes=0,
            saved_bytes=1,
            weight_bytes=4,
        )
        for number in range(count)
    )
    return WeightOffload(Chain("identical", 0, stages), "60%", bandwidth)


@pytest.mark.parametrize("layers", [2, 3])
def test_it_lies_between_its_bound_and_the_sweep_and_never_beats_brute_force(layers: int) -> None:
    chance = random.Random(layers)
    for _ in range(8):
        problem = sample(chance, layers, least=1)
        fastest_ns = least_period_ns(problem)
        guided = solve_with(problem, "bound-guided", SolveOptions(gap=0))
        swept = solve_with(problem, "margin-sweep", SolveOptions(gap=0))
        assert guided.time_ns is not None
        assert guided.lower_bound_ns is not None
        assert fastest_ns is not None
        assert swept.time_ns is not None
        assert guided.lower_bound_ns <= fastest_ns <= guided.time_ns <= swept.time_ns


def test_with_identical_layers_the_selection_of_the_bound_is_better() -> None:
    problem = identical_layers(5, 250_000_000)
    options = SolveOptions(gap=0, time_limit_s=10)
    guided = solve_with(problem, "bound-guided", options)
    swept = solve_with(problem, "margin-sweep", options)
    assert guided.time_ns is not None
    assert swept.time_ns is not None
    assert guided.time_ns < swept.time_ns


def test_an_interrupt_leaves_the_best_so_far() -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    problem = identical_layers(6, 250_000_000)
    found = solve_bound_guided(problem, SolveOptions(on_progress=interrupt))
    assert found.termination is Termination.INTERRUPTED
    assert found.schedule is not None


def test_a_time_limit_leaves_the_best_so_far() -> None:
    # No bound meets a schedule at 1000 MiB/s, and one model takes two seconds.
    chain = load("gpt2-38-b16-table1")
    assert isinstance(chain, Chain)
    problem = WeightOffload(chain, "14645MiB", "1000MiB/s")
    found = solve_bound_guided(problem, SolveOptions(time_limit_s=0.3, gap=0))
    assert found.termination is Termination.TIME_LIMIT
    assert found.schedule is not None
