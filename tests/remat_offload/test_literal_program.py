"""The program of Theorem 1 with all states in slots: never below the optimum, and near it."""

from __future__ import annotations

import math

from jettison import RematOffloadChain
from jettison.remat_offload import Transfers
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.remat_offload.pofo.fluid_schedule import fluid_schedule
from tests.remat_offload.oracles.literal_program import LiteralProgram
from tests.remat_offload.oracles.recurrence import OffloadRecurrence
from tests.remat_offload.oracles.samples import OffloadSample, offload_samples


def literal(sample: OffloadSample, slots: int) -> LiteralProgram:
    return LiteralProgram(sample.chain, sample.memory_bytes, sample.bytes_per_ns, slots)


def replayed_ns(sample: OffloadSample, plan: OffloadPlan) -> int:
    problem = RematOffloadChain(sample.chain, sample.memory_bytes, sample.bytes_per_s, "fluid")
    schedule = fluid_schedule(sample.chain, plan)
    replay = schedule.replay(sample.chain, problem.link, Transfers.FLUID, sample.memory_bytes)
    assert replay.valid
    return replay.time_ns


def test_with_a_slot_for_each_byte_and_whole_amounts_it_is_the_optimum() -> None:
    # With 1 byte per ns every amount that is left is whole.
    met = 0
    for sample in offload_samples(50, 60):
        if sample.bytes_per_s != 10**9 or not 0 < sample.memory_bytes <= 40:
            continue
        optimum = OffloadRecurrence(
            sample.chain, sample.memory_bytes, sample.bytes_per_ns
        ).fastest()
        program = literal(sample, sample.memory_bytes)
        assert math.isfinite(program.time_ns) == (optimum is not None), sample
        if optimum is not None:
            assert program.time_ns == optimum, sample
            assert replayed_ns(sample, program.plan()) <= optimum, sample
            met += 1
    assert met > 3


def test_on_any_grid_it_is_not_below_the_optimum_and_its_plan_is_as_fast_as_it_says() -> None:
    finite = above = 0
    for sample in offload_samples(51, 60):
        if not sample.memory_bytes > 0:
            continue
        optimum = OffloadRecurrence(
            sample.chain, sample.memory_bytes, sample.bytes_per_ns
        ).fastest()
        program = literal(sample, 12)
        if optimum is None:
            assert program.time_ns == math.inf, sample
        if program.time_ns == math.inf:
            continue
        assert optimum is not None
        assert program.time_ns >= float(optimum) - 1e-6, sample
        # The replay rounds up to whole nanoseconds.
        assert replayed_ns(sample, program.plan()) <= math.ceil(program.time_ns - 1e-6), sample
        finite += 1
        above += program.time_ns > float(optimum) + 1e-6
    assert finite > 5
    assert above > 0


def test_it_converges_to_the_optimum_with_finer_slots() -> None:
    shares = []
    for sample in offload_samples(52, 60, most_stages=3):
        if not sample.memory_bytes > 0:
            continue
        optimum = OffloadRecurrence(
            sample.chain, sample.memory_bytes, sample.bytes_per_ns
        ).fastest()
        if optimum is None or optimum == sample.chain.base_time_ns:
            continue
        fine = literal(sample, 8 * sample.memory_bytes if sample.memory_bytes < 10 else 80)
        shares.append(fine.time_ns / float(optimum))
    assert len(shares) > 3
    assert sum(share < 1.05 for share in shares) > 0.6 * len(shares)
