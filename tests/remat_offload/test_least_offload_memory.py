"""The least memory of a chain that may offload."""

from __future__ import annotations

import random

from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.remat_chain.least_memory import least_memory_of_any_schedule
from jettison.solvers.remat_offload.least_memory import (
    least_memory_with_offloading,
    offload_infeasibility,
)
from tests.drawing.chains import chain_of, random_chain

# tests/remat_offload/oracles/test_unrestricted.py compares it with the search over all schedules.


def test_it_is_that_of_the_largest_operation_with_its_inputs_and_outputs() -> None:
    # F 2 needs a^1, ā^2 and its overhead: 2 + 5 + 9. B 2 needs a^1, ā^2, δ^2, δ^1: 2 + 5 + 3 + 2
    # and 1 more. The input, 4 bytes, is on the host by then.
    chain = chain_of(4, (1, 2, 2, 0, 0), (1, 3, 5, 9, 1), (1, 0, 0, 0, 0))
    assert least_memory_with_offloading(chain) == 16
    chain = chain_of(4, (1, 2, 2, 0, 0), (1, 3, 5, 0, 9), (1, 0, 0, 0, 0))
    assert least_memory_with_offloading(chain) == 2 + 5 + 3 + 2 + 9


def test_a_gradient_that_the_overhead_holds_is_not_counted_twice() -> None:
    stages = ((1, 2, 2, 0, 0), (1, 3, 5, 0, 9), (1, 0, 0, 0, 0))
    chain = chain_of(4, *stages, holds_gradient=True)
    assert least_memory_with_offloading(chain) == 2 + 5 + 3 + 9


def test_the_input_alone_has_to_fit_when_the_step_begins() -> None:
    assert least_memory_with_offloading(chain_of(9, (1, 0, 0, 0, 0), holds_gradient=True)) == 9


def test_without_offloading_at_least_as_much_is_needed() -> None:
    generator = random.Random(1)
    for _ in range(100):
        chain = random_chain(generator, generator.randint(1, 6))
        assert least_memory_with_offloading(chain) <= least_memory_of_any_schedule(chain)


def test_less_is_proved_to_be_too_little_for_all_schedules() -> None:
    chain = chain_of(4, (1, 2, 2, 0, 0), (1, 3, 5, 9, 1), (1, 0, 0, 0, 0))
    assert offload_infeasibility(chain, 16) is None
    proof = offload_infeasibility(chain, 15)
    assert proof is not None
    assert (proof.valid_for, proof.least_memory_bytes, proof.is_exact) == (
        ScheduleClass.ALL,
        16,
        True,
    )
