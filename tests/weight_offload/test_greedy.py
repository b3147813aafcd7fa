"""Greedy and Greedy* as methods."""

from __future__ import annotations

import pytest

from jettison import InputError, WeightOffload, solve
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from tests.weight_offload.cases import chain_of, random_problems

METHODS = ("greedy", "greedy-no-discount")


@pytest.mark.parametrize("method", METHODS)
def test_there_is_a_schedule_wherever_one_fits_and_a_proof_elsewhere(method: str) -> None:
    for problem in random_problems(30, seed=4):
        result = solve(problem, method)
        assert result.replay is not None
        assert result.replay.valid
        assert result.work["layer_to_layer"] == 0
        least_bytes = problem.cycle.least_memory_bytes
        if least_bytes > 0:
            refused = solve(
                WeightOffload(problem.instance, least_bytes - 1, problem.bandwidth), method
            )
            assert refused.status == "infeasible"


def test_the_discount_saves_what_the_paper_says() -> None:
    # Row GPT-2 74, 16: 11684 and 11715 ms.
    row = PUBLISHED_ROWS[6]
    problem = WeightOffload(published_chain(row), f"{row.memory_mib}MiB", "12000MiB/s")
    times = [solve(problem, method).time_ns for method in METHODS]
    assert [round((time_ns or 0) / 1e6) for time_ns in times] == [11684, 11715]


@pytest.mark.parametrize("method", METHODS)
def test_times_that_the_kernel_cannot_hold_leave_layer_to_layer(method: str) -> None:
    # 2^33 bytes at 1 byte per second take 2^33 s, 8.6e18 ns: more than the kernel can add up, and
    # more than half of 2^62 ns, so that L2L with its four transfers is refused as well.
    chain = chain_of((1, 1, 2**33), (1, 1, 2**33))
    with pytest.raises(InputError, match="period_ns"):
        solve(WeightOffload(chain, "70%", 1), method)
    # A 64th of it: L2L takes 4 x 2^27 s or less.
    chain = chain_of((1, 1, 2**27), (1, 1, 2**27))
    result = solve(WeightOffload(chain, "70%", 1), method)
    assert result.work["layer_to_layer"] == 1
    assert result.time_ns == solve(WeightOffload(chain, "70%", 1), "l2l").time_ns


def test_a_time_limit_leaves_layer_to_layer() -> None:
    problem = WeightOffload(chain_of(*[(1, 1, 10)] * 50), "40%", "1GB/s")
    result = solve_with(problem, "greedy", SolveOptions(time_limit_s=1e-9))
    assert result.termination is Termination.TIME_LIMIT
    assert result.work["layer_to_layer"] == 1
    assert result.time_ns == solve(problem, "l2l").time_ns
