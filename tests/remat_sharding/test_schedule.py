"""Plans of sharded graphs, replayed on one device."""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison import InputError, ScheduleClass, load_schedule, save_schedule
from jettison.remat_graph import GraphOperation, GraphOperationKind
from jettison.remat_sharding import ShardedSchedule
from jettison.schedules.core.replay import Rule
from tests.remat_sharding.tiny_sharded import LONE_OPERATOR, TWO_LAYERS

# x halved, weights whole, h1 and a1 halved, the others whole: see test_sharded_graph.
STRATEGIES = (1, 0, 0, 1, 1, 0, 0, 0, 0)


def test_resharding_is_paid_where_a_value_is_read() -> None:
    plan = ShardedSchedule.from_computations(TWO_LAYERS, STRATEGIES, range(9))
    replay = plan.replay(TWO_LAYERS)
    assert replay.valid
    # 4 + 1 + 8 + 8 + 8 + 8, and 3 twice for a1 gathered.
    assert replay.time_ns == 43
    assert [
        step.end_ns - step.start_ns for step in replay.steps if step.operation == "compute g2"
    ] == [11]
    # Nothing is computed again.
    assert replay.schedule_class is ScheduleClass.KIWI_REDUCED


def test_a_repeated_computation_pays_its_resharding_again() -> None:
    # h2 is computed again for b1, and gathers a1 again.
    once = ShardedSchedule.from_computations(TWO_LAYERS, STRATEGIES, range(9))
    twice = ShardedSchedule.from_computations(
        TWO_LAYERS, STRATEGIES, (0, 1, 2, 3, 4, 5, 6, 5, 7, 8)
    )
    extra_ns = twice.replay(TWO_LAYERS).time_ns - once.replay(TWO_LAYERS).time_ns
    assert extra_ns == 11


def test_memory_is_that_of_the_strategies() -> None:
    plan = ShardedSchedule.from_computations(TWO_LAYERS, STRATEGIES, range(9))
    # At g2: x 2, w1 4, w2 4, h1 3, a1 3, h2 6 and itself 4; at b1: a1 gone, g2 4 and itself 6.
    assert plan.replay(TWO_LAYERS).peak_bytes == 29
    assert plan.replay(TWO_LAYERS, 29).valid
    (violation,) = plan.replay(TWO_LAYERS, 28).violations
    assert (violation.rule, violation.tensor, violation.bytes_over) == (
        Rule.OUT_OF_MEMORY,
        "b1",
        1,
    )


def test_parameters_and_inputs_are_computed_once() -> None:
    plan = ShardedSchedule.from_computations(
        TWO_LAYERS, STRATEGIES, (0, 1, 2, 3, 1, 0, 4, 5, 6, 7, 8)
    )
    found = plan.replay(TWO_LAYERS).violations
    assert [(item.rule, item.tensor) for item in found] == [
        (Rule.COMPUTED_TWICE, "w1"),
        (Rule.COMPUTED_TWICE, "x"),
    ]


def test_a_parameter_that_is_freed_is_missed_at_the_end() -> None:
    operations = list(
        ShardedSchedule.from_computations(TWO_LAYERS, STRATEGIES, range(9)).operations
    )
    operations.append(GraphOperation(GraphOperationKind.FREE, 2))
    (violation,) = ShardedSchedule(STRATEGIES, tuple(operations)).replay(TWO_LAYERS).violations
    assert (violation.rule, violation.tensor) == (Rule.NOT_KEPT, "w2")


def test_strategies_that_do_not_go_together_have_no_replay() -> None:
    plan = ShardedSchedule((1, 1, 0, 1, 1, 0, 0, 0, 0), ())
    with pytest.raises(InputError, match="'w1' cannot be resharded for 'h1'"):
        plan.replay(TWO_LAYERS)


def test_a_file_holds_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = ShardedSchedule.from_computations(TWO_LAYERS, STRATEGIES, range(9))
    save_schedule(plan, TWO_LAYERS, path)
    assert load_schedule(path, TWO_LAYERS) == plan
    with pytest.raises(InputError, match="not for one operator"):
        load_schedule(path, LONE_OPERATOR)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"strategies": [\n  "b",', '"strategies": [\n  "z",', "'z' is not a strategy of 'x'"),
        ('"strategies": [\n  "b",', '"strategies": [', "8 entries"),
        ('"compute",\n   "x"', '"compute",\n   "y"', "'y' is not a node"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "plan.json"
    plan = ShardedSchedule.from_computations(TWO_LAYERS, STRATEGIES, range(9))
    save_schedule(plan, TWO_LAYERS, path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_schedule(path, TWO_LAYERS)
