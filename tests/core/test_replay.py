"""The verdict of a replay, and the bookkeeping that every replay shares."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from jettison.schedules.core.recorder import Recorder
from jettison.schedules.core.replay import Replay, Rule, Violation
from jettison.schedules.core.schedule_class import ScheduleClass


def _violation(**fields: object) -> Violation:
    return Violation(
        **{  # type: ignore[arg-type]
            "rule": Rule.INPUT_MISSING,
            "position": 3,
            "operation": "B 2",
            "tensor": "ā^2",
            **fields,
        }
    )


def _step(recorder: Recorder, operation: str = "work", **fields: object) -> None:
    recorder.step(
        operation,
        **{  # type: ignore[arg-type]
            "duration_ns": 0,
            "extra_bytes": 0,
            "stored_bytes": recorder.stored_bytes,
            "tensor": "x",
            "computation": operation,
            **fields,
        },
    )


def test_a_violation_names_its_place_its_operation_its_rule_and_its_tensor() -> None:
    assert str(_violation()) == "operation 3 (B 2): input missing: ā^2"


def test_a_violation_of_the_limit_says_how_many_bytes_too_many() -> None:
    violation = _violation(rule=Rule.OUT_OF_MEMORY, tensor="δ^1", bytes_over=17)
    assert str(violation) == "operation 3 (B 2): out of memory: δ^1, 17 bytes over the limit"


def test_a_violation_of_the_whole_sequence_stands_at_the_end() -> None:
    violation = _violation(
        rule=Rule.UNFINISHED, position=None, operation="end", tensor="B 1 is missing"
    )
    assert str(violation) == "at the end: unfinished: B 1 is missing"


def test_a_replay_without_violations_is_valid() -> None:
    assert Recorder(stored_bytes=0, limit_bytes=None).verdict(ScheduleClass.ALL).valid


def test_an_empty_replay_takes_no_time_and_its_peak_is_what_was_stored() -> None:
    replay = Recorder(stored_bytes=5, limit_bytes=None).verdict(ScheduleClass.PERSISTENT)
    assert replay == Replay((), 5, None, (), ScheduleClass.PERSISTENT)
    assert replay.time_ns == 0


def test_the_clock_runs_from_step_to_step() -> None:
    recorder = Recorder(stored_bytes=0, limit_bytes=None)
    _step(recorder, "one", duration_ns=4)
    _step(recorder, "two", duration_ns=0)
    _step(recorder, "three", duration_ns=3)
    replay = recorder.verdict(ScheduleClass.ALL)
    assert [(step.start_ns, step.end_ns) for step in replay.steps] == [(0, 4), (4, 4), (4, 7)]
    assert replay.time_ns == 7


def test_the_peak_holds_what_is_in_use_during_an_operation() -> None:
    recorder = Recorder(stored_bytes=2, limit_bytes=None)
    # 2 + 5 while it runs; 4 stay, on top of which the next one takes 1.
    _step(recorder, extra_bytes=5, stored_bytes=4)
    _step(recorder, extra_bytes=1, stored_bytes=5)
    replay = recorder.verdict(ScheduleClass.ALL)
    assert [(step.during_bytes, step.after_bytes) for step in replay.steps] == [(7, 4), (5, 5)]
    assert replay.peak_bytes == 7


def test_the_peak_holds_what_stays_where_that_is_more() -> None:
    recorder = Recorder(stored_bytes=2, limit_bytes=5)
    _step(recorder, "grow", extra_bytes=0, stored_bytes=6, tensor="δ^0")
    replay = recorder.verdict(ScheduleClass.ALL)
    assert replay.peak_bytes == 6
    # 6 - 5.
    assert [str(item) for item in replay.violations] == [
        "operation 0 (grow): out of memory: δ^0, 1 bytes over the limit"
    ]


def test_exactly_the_limit_is_not_over_it() -> None:
    recorder = Recorder(stored_bytes=2, limit_bytes=7)
    _step(recorder, extra_bytes=5)
    assert recorder.verdict(ScheduleClass.ALL).valid


def test_an_input_that_does_not_fit_is_a_violation_before_any_operation() -> None:
    replay = Recorder(stored_bytes=9, limit_bytes=7).verdict(ScheduleClass.ALL)
    (violation,) = replay.violations
    # 9 - 7.
    assert (violation.rule, violation.bytes_over) == (Rule.OUT_OF_MEMORY, 2)
    assert (violation.position, violation.operation, violation.tensor) == (
        None,
        "start",
        "the input",
    )


def test_violations_carry_the_index_of_the_operation_that_is_running() -> None:
    recorder = Recorder(stored_bytes=0, limit_bytes=None)
    _step(recorder, "zero")
    recorder.broken(Rule.INPUT_MISSING, "one", "x")
    _step(recorder, "one")
    recorder.broken_at_end(Rule.NOT_KEPT, "y")
    violations = recorder.verdict(ScheduleClass.ALL).violations
    assert [item.position for item in violations] == [1, None]


def test_a_computation_is_repeated_from_its_second_run_on() -> None:
    recorder = Recorder(stored_bytes=0, limit_bytes=None)
    for computation in ("F 1", "F 2", "F 1", None, None):
        _step(recorder, computation=computation)
    steps = recorder.verdict(ScheduleClass.ALL).steps
    assert [step.repeated for step in steps] == [False, False, True, False, False]


@pytest.mark.parametrize(("wide", "narrow"), list(product(ScheduleClass, repeat=2)))
def test_a_class_covers_itself_and_the_classes_within_it(
    wide: ScheduleClass, narrow: ScheduleClass
) -> None:
    within = wide is narrow or wide is ScheduleClass.ALL
    nested = [
        ScheduleClass.IN_ORDER,
        ScheduleClass.STAGED,
        ScheduleClass.KIWI_ELEMENTWISE,
        ScheduleClass.KIWI_REDUCED,
    ]
    # Neither of the two that hold the persistent schedules of a chain holds the other.
    of_chains = product(
        [ScheduleClass.TABLE_1, ScheduleClass.PERSISTENT_WITH_DROPS], [ScheduleClass.PERSISTENT]
    )
    of_graphs = product(
        [ScheduleClass.IN_ORDER, ScheduleClass.STAGED], [ScheduleClass.SAVED_OR_ONCE]
    )
    ordered = (wide, narrow) in {*combinations(nested, 2), *of_chains, *of_graphs}
    assert wide.covers(narrow) == (within or ordered)
