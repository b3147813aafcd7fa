"""Replays as columns: nothing is lost, and what is joined keeps its time and its peak."""

from __future__ import annotations

from itertools import accumulate

import jettison as jt
from jettison.schedules.core.replay import Replay, Step
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.studies.report.timeline import Timeline
from tests.tiny import GRAPHS, UNIFORM


def replay_of(steps: list[Step]) -> Replay:
    return Replay(
        steps=tuple(steps),
        peak_bytes=max(step.during_bytes for step in steps),
        limit_bytes=None,
        violations=(),
        schedule_class=ScheduleClass.ALL,
    )


def test_bars_are_the_operations_of_the_replay_with_the_names_of_stages() -> None:
    result = jt.solve(jt.RematChain(UNIFORM, memory="60%"), method="rotor-exact")
    assert result.replay is not None
    steps = [step for step in result.replay.steps if step.end_ns > step.start_ns]
    document = Timeline.of(result.replay, UNIFORM).to_json()
    bars = document["bars"]
    assert sum(bars["length"]) == sum(step.end_ns - step.start_ns for step in steps)
    assert len(bars["length"]) == len(steps)
    assert document["end"] == result.time_ns
    assert document["peak"] == result.peak_bytes
    sizes = list(accumulate(document["memory"]["size"]))
    assert max(sizes) == result.peak_bytes
    assert "F_all 1 (layer0)" in document["labels"] or "F_ck 1 (layer0)" in document["labels"]
    repeated = sum(step.repeated for step in steps)
    again = document["lanes"].index("recompute")
    assert repeated > 0
    assert bars["lane"].count(again) == repeated


def test_transfers_of_a_cycle_are_folded_into_it_and_waits_are_shown() -> None:
    problem = jt.WeightOffload(jt.load("gpt2-38-b16-table1"), memory="50%", bandwidth="6GB/s")
    result = jt.solve(problem, method="greedy")
    assert result.replay is not None
    assert result.time_ns is not None
    found = Timeline.of(result.replay, problem.instance)
    assert {bar.lane for bar in found.bars} == {"compute", "to the host", "from the host"}
    assert all(0 <= bar.start_ns < bar.end_ns <= result.time_ns for bar in found.bars)
    waiting = sum(bar.end_ns - bar.start_ns for bar in found.bars if bar.kind == "waiting")
    # What is not computing is waiting.
    assert waiting == result.time_ns - problem.instance.base_time_ns


def test_many_short_operations_are_joined_and_keep_time_and_peak() -> None:
    steps = [Step(f"compute n{k}", k, k + 1, 10 + k % 7, 5, repeated=False) for k in range(5000)]
    steps[1234] = Step("compute peak", 1234, 1235, 99, 5, repeated=False)
    found = Timeline.of(replay_of(steps), GRAPHS[0], most_bars=50, most_moments=50)
    assert found.joined
    assert len(found.bars) <= 50
    assert len(found.memory) <= 50
    assert sum(bar.end_ns - bar.start_ns for bar in found.bars) == 5000
    assert max(moment.size_bytes for moment in found.memory) == 99
    assert found.memory[-1].when_ns == 5000


def test_operations_without_a_duration_have_no_bar_but_their_memory_shows() -> None:
    found = Timeline.of(
        replay_of(
            [Step("compute a", 0, 0, 7, 1, repeated=False), Step("free a", 0, 0, 1, 0, False)]
        ),
        GRAPHS[0],
    )
    assert found.bars == ()
    assert [moment.size_bytes for moment in found.memory] == [7, 0]
