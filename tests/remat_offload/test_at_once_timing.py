"""Plans of two phases with transfers at once: by hand, and against the fluid replay."""

from __future__ import annotations

from jettison import Chain, Link, ScheduleClass
from jettison.remat_offload import Transfers
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.fluid_replay import has_two_phases
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.remat_offload.pofo.at_once_timing import AtOnceTiming, time_at_once
from jettison.solvers.remat_offload.pofo.fluid_schedule import fluid_schedule
from jettison.solvers.remat_offload.tensor_lifetimes import TensorLifetimes
from tests.drawing.chains import chain_of
from tests.each import each
from tests.remat_offload.cases import BYTE_PER_NS, offload_cases
from tests.remat_offload.oracles.transfer_referee import Referee
from tests.remat_offload.sequences import sequence

INPUT = Tensor(TensorKind.PLAIN, 0)
SAVED_1 = Tensor(TensorKind.SAVED, 1)

# Backwards take 1 ns. Needs: F 7, 12, 13, B 15, 16, 10 bytes.
CHAIN = chain_of(1, (4, 2, 6, 0, 0), (3, 2, 5, 0, 0), (2, 0, 1, 0, 0))
SAVING = sequence("F_all 1, F_all 2, F_all 3, B 3, B 2, B 1").computations


def _time(
    plan: OffloadPlan, memory_bytes: int, chain: Chain = CHAIN, link: Link = BYTE_PER_NS
) -> AtOnceTiming:
    timing = time_at_once(chain, plan, link, memory_bytes)
    assert timing is not None
    return timing


def test_a_prefetch_runs_as_late_as_it_may() -> None:
    # First phase: F 0-9, ā1 leaves from 4 to 10. In reversed time B 1 0-1, B 2 1-2, then ā1 comes,
    # 2-8, and beside it B 3, 2-3: it needs 9 bytes and ā1 6. In all 10 + 8: ā1 comes back from 10
    # to 16, and B 3 starts at 15 at the latest.
    timing = _time(OffloadPlan(SAVING, (SAVED_1,)), 16)
    assert timing.time_ns == 18
    assert [str(item) for item in timing.schedule.operations] == [
        "F_all 1",
        "O_all 1",
        "F_all 2",
        "D_all 1",
        "F_all 3",
        "P_all 1",
        "B 3",
        "B 2",
        "B 1",
    ]
    replay = timing.schedule.replay(CHAIN, BYTE_PER_NS, Transfers.AT_ONCE, 16)
    assert replay.valid
    assert replay.time_ns == 18


def test_a_prefetch_waits_for_the_backward_that_needs_its_memory() -> None:
    # With two bytes of overhead B 3 needs 11 bytes and, beside ā1, 17: in reversed time it waits
    # for ā1 to be gone, at 8, and ends at 9. In all 10 + 9: B 3 10-11, then ā1 11-17, B 2, B 1.
    chain = chain_of(1, (4, 2, 6, 0, 0), (3, 2, 5, 0, 0), (2, 0, 1, 0, 2))
    timing = _time(OffloadPlan(SAVING, (SAVED_1,)), 16, chain)
    assert timing.time_ns == 19
    assert [str(item) for item in timing.schedule.operations[5:7]] == ["B 3", "P_all 1"]
    # In order of the starts B 3 need not wait for the copy to end: it takes 13 + 4 bytes, one too
    # many, until ā1 has gone. Nothing is gained.
    assert timing.schedule.replay(chain, BYTE_PER_NS, Transfers.AT_ONCE, 16).time_ns == 19


def test_a_plan_that_does_not_fit_with_all_copies_complete_has_no_times() -> None:
    # B 2 needs 16 bytes with ā1, 15 without the input.
    assert time_at_once(CHAIN, OffloadPlan(SAVING, (SAVED_1,)), BYTE_PER_NS, 15) is None
    assert time_at_once(CHAIN, OffloadPlan(SAVING, (SAVED_1, INPUT)), BYTE_PER_NS, 15) is not None
    assert time_at_once(CHAIN, OffloadPlan(SAVING, (INPUT,)), BYTE_PER_NS, 0) is None


def test_without_offloads_it_is_the_sequence_itself() -> None:
    timing = _time(OffloadPlan(SAVING, ()), 16)
    assert timing.schedule.operations == SAVING.operations
    assert timing.time_ns == CHAIN.base_time_ns


@each(seed=range(3))
def test_a_plan_fits_at_once_where_it_fits_fluid_and_takes_no_less_time(seed: int) -> None:
    timed = 0
    for generator, case in offload_cases(seed, count=100):
        chain, link, memory_bytes = case.chain, case.link, case.memory_bytes
        gaps = [gap for gap in case.lifetimes.gaps if gap.start < case.lifetimes.turn <= gap.end]
        offloaded = tuple(gap.tensor for gap in gaps if generator.random() < 0.6)
        plan = OffloadPlan(case.lifetimes.computations, offloaded)
        fluid = fluid_schedule(chain, plan).replay(chain, link, Transfers.FLUID, memory_bytes)
        timing = time_at_once(chain, plan, link, memory_bytes)
        assert (timing is not None) == fluid.valid
        if timing is None:
            continue
        timed += 1
        assert has_two_phases(timing.schedule.operations)
        replay = timing.schedule.replay(chain, link, Transfers.AT_ONCE, memory_bytes)
        assert replay.valid
        assert chain.base_time_ns <= replay.time_ns <= timing.time_ns
        assert fluid.time_ns <= timing.time_ns
        if replay.schedule_class is ScheduleClass.POFO:
            assert fluid.time_ns <= replay.time_ns
        assert Referee(chain, link).peak_bytes(timing.schedule, replay) <= memory_bytes
    assert timed > 20


def test_a_fast_link_costs_a_nanosecond_per_transfer_at_most() -> None:
    fast = Link(10**15)
    for _, case in offload_cases(seed=5, count=60):
        turn = case.lifetimes.turn
        gaps = [gap for gap in case.lifetimes.gaps if gap.start < turn <= gap.end]
        plan = OffloadPlan(case.lifetimes.computations, tuple(gap.tensor for gap in gaps))
        timing = time_at_once(case.chain, plan, fast, case.memory_bytes)
        if timing is not None:
            alone_ns = case.lifetimes.computations.replay(case.chain).time_ns
            assert alone_ns <= timing.time_ns <= alone_ns + 2 * len(gaps)


def test_the_loss_may_offload_its_own_input() -> None:
    # a2 is read by F 3 and dropped by B 3: it leaves and returns between the phases, 2 + 2 ns.
    computations = sequence("F_ck 1, F_ck 2, F_all 3, B 3, F_all 2, B 2, F_all 1, B 1").computations
    plan = OffloadPlan(computations, (Tensor(TensorKind.PLAIN, 2),))
    assert TensorLifetimes(CHAIN, computations).gap_at_turn(plan.offloaded[0]).start == 2
    timing = _time(plan, 20)
    # F 1-3 take 9 ns, a2 leaves from 7 to 9; it comes back 9-11; then 1 + 3 + 1 + 4 + 1 ns.
    assert timing.time_ns == 21
    assert timing.schedule.replay(CHAIN, BYTE_PER_NS, Transfers.AT_ONCE, 20).time_ns == 21
