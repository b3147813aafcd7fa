"""The least memory of a chain, against the brute force."""

from __future__ import annotations

from hypothesis import given, settings

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.remat_chain.least_memory import (
    least_memory_of_any_schedule,
    least_persistent_memory,
)
from tests.drawing.chains import chains
from tests.remat_chain.oracles.brute_force import least_memory, least_memory_persistent
from tests.remat_chain.oracles.drops_brute_force import trade_off_with_drops
from tests.remat_chain.oracles.judged_chains import judged_chains
from tests.tiny import LARGER_IF_PERSISTENT


def test_a_loss_alone_needs_what_its_backward_needs() -> None:
    chain = Chain(
        name="loss only",
        input_bytes=3,
        stages=(Stage(name="loss", forward_ns=2, backward_ns=4, output_bytes=0, saved_bytes=5),),
    )
    # 3 + 5, and the gradient of the input, 3.
    least, schedule = least_persistent_memory(chain)
    assert least == least_memory_of_any_schedule(chain) == 11
    assert [str(operation) for operation in schedule.operations] == ["F_all 1", "B 1"]


def test_the_least_memory_is_that_of_the_brute_force() -> None:
    for judged in judged_chains():
        assert least_persistent_memory(judged.chain)[0] == judged.persistent[-1][0]


@settings(max_examples=150)
@given(chains())
def test_the_least_memory_of_any_small_chain_is_that_of_the_brute_force(chain: Chain) -> None:
    assert least_persistent_memory(chain)[0] == least_memory_persistent(chain)


@settings(max_examples=150)
@given(chains(max_stages=9))
def test_the_schedule_attains_the_least_memory_and_is_persistent(chain: Chain) -> None:
    least, schedule = least_persistent_memory(chain)
    replay = schedule.replay(chain, least)
    assert replay.valid
    assert replay.peak_bytes == least
    assert replay.schedule_class is ScheduleClass.PERSISTENT


@settings(max_examples=150)
@given(chains(max_stages=9))
def test_the_least_memory_lies_between_the_bound_and_the_two_simplest_schedules(
    chain: Chain,
) -> None:
    least = least_persistent_memory(chain)[0]
    assert least_memory_of_any_schedule(chain) <= least
    assert least <= min(chain.store_all_peak_bytes, chain.recompute_all_peak_bytes)


def test_no_schedule_of_any_kind_needs_less_than_the_bound() -> None:
    for judged in judged_chains():
        assert least_memory_of_any_schedule(judged.chain) <= judged.all_schedules[-1][0]


@settings(max_examples=100)
@given(chains(max_stages=3))
def test_no_schedule_of_any_small_chain_needs_less_than_the_bound(chain: Chain) -> None:
    assert least_memory_of_any_schedule(chain) <= trade_off_with_drops(chain)[-1][0]


def test_a_schedule_that_is_not_persistent_can_need_less() -> None:
    assert least_persistent_memory(LARGER_IF_PERSISTENT)[0] == 4
    assert least_memory(LARGER_IF_PERSISTENT) == 3
    # F_all 1 takes 2 + 1, F_all 2 1 + 2: the bound is tight here.
    assert least_memory_of_any_schedule(LARGER_IF_PERSISTENT) == 3
