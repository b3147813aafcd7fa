"""The executor of decisions on a unit: always valid, in the time that the replay finds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison import InputError, MultiModelTraining
from jettison.instances.generators.random_models import RandomModels
from jettison.multi_model import MultiModelAction, MultiModelSchedule
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions, least_memory_decisions
from jettison.solvers.multi_model.executor.executed_units import ExecutedUnit, UnitExecutor
from tests.multi_model.random_units import random_decisions, random_problem
from tests.tiny_models import mirrored_models

K, S, R = Fate.KEEP, Fate.SWAP, Fate.RECOMPUTE


def replayed(problem: MultiModelTraining, executed: ExecutedUnit) -> TrainingReplay:
    found = MultiModelSchedule((executed.unit,)).replay(problem)
    assert found.valid, found.violations[0]
    assert found.time_ns == executed.time_ns
    return found


def words(executed: ExecutedUnit, round_number: int = 0) -> str:
    return ", ".join(str(item) for item in executed.unit.rounds[round_number])


@given(seed=st.integers(0, 2**32))
def test_what_it_makes_is_valid_and_takes_the_time_that_it_says(seed: int) -> None:
    draw = random.Random(seed)
    problem, sizes = random_problem(draw)
    executor = UnitExecutor(problem, sizes)
    for _ in range(5):
        executed = executor.execute(random_decisions(draw, executor.arrays))
        if executed is not None:
            replayed(problem, executed)


@given(seed=st.integers(0, 2**32))
def test_in_the_least_memory_there_is_always_a_schedule_and_in_less_never(seed: int) -> None:
    draw = random.Random(seed)
    problem, sizes = random_problem(draw)
    arrays = [problem.sub_array(size) for size in sizes]
    least = sum(array.static_bytes for array in arrays)
    least += max(array.largest_peak_bytes for array in arrays)
    for memory in (least, least - 1):
        tight = MultiModelTraining(problem.instance, max(memory, 0))
        executor = UnitExecutor(tight, sizes)
        executed = executor.execute(least_memory_decisions(executor.arrays))
        assert (executed is None) == (memory < max(least, 0))
        if executed is not None:
            assert replayed(tight, executed).peak_bytes == least


def test_hundreds_of_operators_with_all_kinds_of_decisions_are_valid() -> None:
    draw = random.Random(0)
    instance = RandomModels(operators=300, tensors=120, models=2, timed_percent=50).draw(1)
    found = 0
    for sizes in ((1, 1), (2,)):
        problem = MultiModelTraining(instance, "60%")
        executor = UnitExecutor(problem, sizes)
        for _ in range(6):
            fates = tuple(
                tuple(draw.choice([K, S, S, R]) for _ in array.tensors) for array in executor.arrays
            )
            interleaved = tuple(
                tuple(sorted(draw.randint(0, 150) for _ in array.backward))
                for array in executor.arrays
            )
            executed = executor.execute(
                UnitDecisions(fates, interleaved if len(sizes) == 2 else ())
            )
            if executed is not None:
                replayed(problem, executed)
                found += 1
    assert found


def test_everything_kept_needs_no_transfer_and_never_waits() -> None:
    problem = MultiModelTraining(mirrored_models(), 1000)
    executor = UnitExecutor(problem, (1, 1))
    executed = executor.execute(UnitDecisions(((K,) * 4,) * 2, ((0, 1, 2, 3),) * 2))
    assert executed is not None
    assert words(executed) == "B1 0, F2 0, B1 1, F2 1, B1 2, F2 2, B1 3, F2 3"
    assert executed.time_ns == 40


def test_offloads_follow_the_last_forward_use_and_discards_too() -> None:
    problem = MultiModelTraining(mirrored_models(models=1), 1000)
    executed = UnitExecutor(problem, (1,)).execute(UnitDecisions(((R, S, K, K),)))
    assert executed is not None
    assert words(executed).startswith("F1 0, D1 0, F1 1, O1 1, F1 2, F1 3, B1 0")


def test_a_prefetch_without_a_prompt_is_issued_just_in_time() -> None:
    # z0 is read by b3, which starts at 17; its copy takes 6 ns, from 11 at the latest. b1, the last
    # one that has started by then, starts at 11.
    problem = MultiModelTraining(mirrored_models(models=1), 1000)
    executed = UnitExecutor(problem, (1,)).execute(UnitDecisions(((S, K, K, K),)))
    assert executed is not None
    assert "B1 1, P1 0, B1 2, B1 3" in words(executed)
    assert executed.time_ns == 20


def test_a_prefetch_with_a_prompt_is_issued_right_after_it() -> None:
    problem = MultiModelTraining(mirrored_models(models=1), 1000)
    executor = UnitExecutor(problem, (1,))
    for prompt, stall_ns in ((0, 0), (2, 3)):
        executed = executor.execute(UnitDecisions(((S, K, K, K),), (), ({0: prompt},)))
        assert executed is not None
        assert f"B1 {prompt}, P1 0" in words(executed)
        # After b2, from 14 to 17, the copy takes until 20: b3 waits 3 ns.
        assert replayed(problem, executed).stall_ns == stall_ns


def test_a_prefetch_that_does_not_fit_slides_to_where_it_does() -> None:
    # Beside b1, which takes 32 - 12 bytes over what it finds, z0 does not fit in 42 bytes; its copy
    # starts with b2 at 14, and b3 waits 3 ns.
    problem = MultiModelTraining(mirrored_models(models=1, peaks={"b1": 32}), 42)
    executed = UnitExecutor(problem, (1,)).execute(UnitDecisions(((S, K, K, K),)))
    assert executed is not None
    assert "B1 1, B1 2, P1 0" in words(executed) or "B1 1, P1 0, B1 2" in words(executed)
    assert replayed(problem, executed).stall_ns == 3


def test_prefetches_are_issued_in_the_order_in_which_they_are_read() -> None:
    for seed in range(40):
        draw = random.Random(seed)
        instance = RandomModels(operators=16, tensors=8, models=1).draw(seed)
        array = instance.sub_array(1)
        memory = draw.randint(
            array.static_bytes + array.largest_peak_bytes, array.store_all_peak_bytes
        )
        executor = UnitExecutor(MultiModelTraining(instance, memory), (1,))
        executed = executor.execute(UnitDecisions(((S,) * 8,)))
        assert executed is not None
        uses = [
            array.tensors[item.position].first_backward
            for item in executed.unit.rounds[0]
            if item.action is MultiModelAction.PREFETCH
        ]
        assert len(uses) == 8
        assert uses == sorted(uses)


def test_recomputed_sources_stay_for_their_own_use_where_they_fit() -> None:
    # z2 comes from z1, and z1 from z0. With room, each is computed again once.
    instance = mirrored_models(models=1, chained=True)
    problem = MultiModelTraining(instance, 1000)
    executed = UnitExecutor(problem, (1,)).execute(UnitDecisions(((R, R, R, K),)))
    assert executed is not None
    assert words(executed).endswith("B1 0, R1 0, R1 1, R1 2, B1 1, B1 2, B1 3")
    assert replayed(problem, executed).recompute_ns == 3


def test_recomputed_sources_are_dropped_where_they_do_not_fit() -> None:
    # b1 and b2 take all of the memory: z2 is computed once, z1 twice and z0 three times.
    instance = mirrored_models(models=1, chained=True, peaks={"b1": 22, "b2": 22})
    problem = MultiModelTraining(instance, 22)
    executed = UnitExecutor(problem, (1,)).execute(UnitDecisions(((R, R, R, K),)))
    assert executed is not None
    assert words(executed).endswith(
        "B1 0, R1 0, R1 1, D1 0, R1 2, D1 1, B1 1, R1 0, R1 1, D1 0, B1 2, R1 0, B1 3"
    )
    assert replayed(problem, executed).recompute_ns == 6


def test_of_two_recomputed_sources_the_one_that_is_read_first_stays() -> None:
    # Beside b1 there is room for one feature map: z1. So z0 is computed again for b3, but not for
    # b2.
    instance = mirrored_models(models=1, chained=True, peaks={"b1": 22})
    problem = MultiModelTraining(instance, 32)
    executed = UnitExecutor(problem, (1,)).execute(UnitDecisions(((R, R, R, K),)))
    assert executed is not None
    assert words(executed).endswith("B1 0, R1 0, R1 1, D1 0, R1 2, B1 1, B1 2, R1 0, B1 3")
    assert replayed(problem, executed).recompute_ns == 4


def test_a_swapped_source_comes_back_for_the_recomputation_and_stays() -> None:
    # z1 is computed from z0, which b3 reads later.
    instance = mirrored_models(models=1, chained=True)
    problem = MultiModelTraining(instance, 1000)
    executed = UnitExecutor(problem, (1,)).execute(UnitDecisions(((S, R, K, K),)))
    assert executed is not None
    text = words(executed)
    assert text.index("P1 0") < text.index("R1 1") < text.index("B1 2")
    assert text.count("P1 0") == 1
    replayed(problem, executed)


def test_decisions_that_do_not_fit_have_no_schedule() -> None:
    problem = MultiModelTraining(mirrored_models(models=1), 41)
    executor = UnitExecutor(problem, (1,))
    # Everything kept needs 42 bytes.
    assert executor.execute(UnitDecisions(((K,) * 4,))) is None
    assert executor.execute(UnitDecisions(((S, K, K, K),))) is not None
    pair = UnitExecutor(MultiModelTraining(mirrored_models(), 41), (1, 1))
    assert pair.execute(UnitDecisions(((K,) * 4,) * 2, ((0,) * 4,) * 2)) is None


def test_a_size_without_a_profile_is_refused() -> None:
    with pytest.raises(InputError, match="mirrored has profiles of 1 models"):
        UnitExecutor(MultiModelTraining(mirrored_models(), 100), (2,))
