"""Interleaved pipelines: the order, its timeline, and plans between the bound and enumeration."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import jettison as jt
from jettison import InputError
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule
from jettison.schedules.pipeline_chain.phase_order import Load, device_turns, largest_loads
from jettison.schedules.pipeline_chain.phase_timeline import PhaseTimes, run_phases
from jettison.schedules.pipeline_chain.schedule import PipelineSchedule, spans_of
from jettison.solvers.core.outcome import SILENT
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.pipeline_chain.baselines import EachAgain, KeepAll
from jettison.solvers.pipeline_chain.chunk_methods import solve_megatron_interleaved
from tests.drawing.chains import stage_of
from tests.drawing.pipelines import drawn_pipeline
from tests.pipeline_chain.oracles.by_enumeration import best_pipeline
from tests.pipeline_chain.oracles.by_interleaving import (
    best_interleaved,
    clock,
    device_options,
    megatron_order,
)

STAGES = tuple(stage_of(f"s{k}", 1, 1, 1, 2) for k in range(7))
EVEN = Chain("even", 1, (*STAGES, stage_of("loss", 1, 1, 0, 1)))


def drawn(seed: int) -> PipelineChain:
    """Draw two devices of up to two chunks each."""
    found = drawn_pipeline(seed, most_stages=5)
    while len(found.instance) < 4:
        seed += 100_000
        found = drawn_pipeline(seed, most_stages=5)
    return replace(
        found,
        devices=2,
        chunks=2,
        microbatches=random.Random(seed).choice([2, 4]),
        memory=f"{found.memory_bytes + 20}B",
    )


def test_the_order_is_that_of_megatrons_table() -> None:
    for devices in (2, 3, 4):
        for chunks in (2, 3):
            for batches in (devices, 3 * devices):
                for device in range(1, devices + 1):
                    turns = [
                        ("FB"[turn.is_backward], turn.part // devices, turn.microbatch)
                        for turn in device_turns(devices, device, chunks, batches)
                    ]
                    assert turns == megatron_order(devices, device - 1, chunks, batches)


def test_every_interleaved_step_ends_with_the_bubbles_of_the_paper() -> None:
    # With phases of 1 ns a device works for 2 m v, and waits for the others 2 (p - 1) ns: the
    # bubble of plain 1F1B, 2 (p - 1) v, divided by v.
    for devices in range(2, 9):
        for chunks in range(2, 6):
            for groups in range(1, 4):
                batches = groups * devices
                ran = run_phases([PhaseTimes(1, 1)] * (devices * chunks), devices, batches)
                end_ns = max(phase.sent_ns for phases in ran for phase in phases)
                assert end_ns == 2 * batches * chunks + 2 * (devices - 1), (devices, chunks)


def test_the_last_device_holds_the_first_chunk_while_the_last_one_runs() -> None:
    # Two devices of two chunks, two micro-batches, on the last device: F1 F2 of chunk 1, then F1 of
    # chunk 2 beside two of chunk 1, its B1 beside these, and so on.
    turns = device_turns(2, 2, 2, 2)
    text = [f"{'FB'[turn.is_backward]}{turn.microbatch}.{turn.part // 2 + 1}" for turn in turns]
    assert text == ["F1.1", "F2.1", "F1.2", "B1.2", "F2.2", "B2.2", "B1.1", "B2.1"]
    assert set(largest_loads(turns, 2, 2)) == {
        Load(False, 0, (1, 0)),
        Load(True, 0, (1, 0)),
        Load(False, 1, (2, 0)),
        Load(True, 1, (2, 0)),
    }


def test_the_memory_and_the_time_are_those_of_the_enumeration() -> None:
    problem = PipelineChain(EVEN, 1000, 2, 4, "1GB/s", 0, 2)
    spans = spans_of([2, 4, 6], 8)
    for way in (KeepAll(), EachAgain()):
        schedule = PipelineSchedule(tuple(way.plan(*span) for span in spans), 2)
        replay = schedule.replay(problem)
        assert replay.valid
        times = tuple((part.times.forward_ns, part.times.backward_ns) for part in _parts(replay))
        assert replay.time_ns == clock(problem, spans, times, 2)
        # At the peak it fits, and with a byte less it does not.
        tight = replace(problem, memory=f"{replay.peak_bytes}B")
        assert schedule.replay(tight).valid
        small = replace(problem, memory=f"{replay.peak_bytes - 1}B")
        assert [found.rule for found in schedule.replay(small).violations] == [Rule.OUT_OF_MEMORY]


def _parts(replay: object) -> list[object]:
    return [run.parts[chunk] for chunk in (0, 1) for run in replay.devices]


def test_plans_are_between_the_bound_and_enumeration_and_no_slower_than_plain() -> None:
    equal = found = faster = 0
    for seed in range(12):
        problem = drawn(seed)
        plain = best_pipeline(replace(problem, chunks=1))
        own = best_interleaved(problem, 2)
        steps = [step for step in (plain and plain[1], own) if step is not None]
        result = solve_with(problem, "exact", SILENT)
        if own is None:
            assert solve_with(problem, "interleaved", SILENT).schedule is None, seed
        if not steps:
            assert result.schedule is None, seed
            continue
        assert result.infeasibility is None, seed
        assert all(bound.time_ns <= min(steps) for bound in result.bounds), seed
        if plain is not None:
            assert result.time_ns is not None, seed
            assert min(steps) <= result.time_ns <= plain[1], seed
            faster += result.time_ns < plain[1]
        found += result.time_ns is not None
        equal += result.time_ns == min(steps)
    assert equal > found // 2
    assert faster > 0


def test_options_of_a_device_are_what_fits() -> None:
    problem = PipelineChain(EVEN, 1000, 2, 2, None, 0, 2)
    (fastest,) = device_options(problem, 0, [(1, 1), (3, 3)], 2)
    assert fastest == ((1, 1), (1, 1))


def test_no_method_is_faster_than_the_default_one_with_chunks() -> None:
    for seed in range(3):
        problem = drawn(seed)
        best = solve_with(problem, "exact", SILENT).time_ns
        for method in methods_of("pipeline-chain"):
            time_ns = solve_with(problem, method.name, SILENT).time_ns
            assert time_ns is None or (best is not None and best <= time_ns), (seed, method.name)


def test_interleaving_shortens_the_bubble_of_a_balanced_chain() -> None:
    # 8 stages of 2 ns on two devices: 8 ns for each of 8 micro-batches. The second device starts
    # 4 ns late and ends 4 ns early in plain 1F1B, and two chunks halve that.
    plain = jt.solve(PipelineChain(EVEN, 1000, 2, 8))
    chunked = jt.solve(PipelineChain(EVEN, 1000, 2, 8, chunks=2))
    assert plain.time_ns == 8 * 8 + 8
    assert chunked.time_ns == 8 * 8 + 4
    assert chunked.lower_bound_ns is not None
    assert chunked.lower_bound_ns <= 68


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"chunks": 5}, "chunks: 5; write 1 to 4"),
        ({"chunks": 2, "microbatches": 3}, "there are 3; give 4 micro-batches, or 1 chunk"),
        ({"chunks": 2, "devices": 1}, "2 of each device, and there is one device; give 2 devices"),
        ({"devices": 9}, "devices: 9; write 1 to 8, one for each stage at most"),
    ],
)
def test_chunks_that_make_no_sense_are_refused(fields: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(PipelineChain(EVEN, 100, 2, 4), **fields)


def test_more_chunks_than_are_allowed_break_a_rule() -> None:
    problem = PipelineChain(EVEN, 1000, 2, 4, chunks=2)
    schedule = solve_megatron_interleaved(problem, SILENT).schedule
    assert schedule is not None
    assert schedule.replay(problem).valid
    rules = {found.rule for found in schedule.replay(replace(problem, chunks=1)).violations}
    assert rules == {Rule.UNKNOWN_OPERATION}
    odd = schedule.replay(replace(problem, chunks=1, microbatches=3))
    assert Rule.OUT_OF_ORDER in {found.rule for found in odd.violations}
