"""The picture of memory over time shows the numbers of the replay and no others."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from jettison import Chain, Link
from jettison.core import Replay
from jettison.remat_chain import ChainSchedule, Stage
from jettison.remat_graph import GraphSchedule
from jettison.schedules.core.memory_plot import plot_memory
from jettison.solvers.remat_chain.baselines import (
    periodic_schedule,
    recompute_all_schedule,
    store_all_schedule,
)
from tests.drawing.chains import chain_of
from tests.remat_offload.sequences import sequence
from tests.tiny import LADDER, UNEVEN, UNIFORM

GIB = 2**30
DURING = "in use while it runs"
STAYS = "stays after the operation"


def drawn(replay: Replay) -> Axes:
    return plot_memory(replay, title="mine").axes[0]


def stairs(axes: Axes, label: str) -> StepPatch:
    (found,) = [patch for patch in axes.patches if patch.get_label() == label]
    assert isinstance(found, StepPatch)
    return found


def phase_lengths(axes: Axes) -> dict[str, float]:
    lengths = {}
    for strip in axes.collections:
        boxes = [path.get_extents() for path in strip.get_paths()]
        lengths[str(strip.get_label())] = sum(box.width for box in boxes)
    return lengths


def text(axes: Axes, beginning: str) -> Any:
    (found,) = [item for item in axes.texts if item.get_text().startswith(beginning)]
    return found


def test_the_line_is_the_memory_in_use_during_every_operation() -> None:
    replay = periodic_schedule(UNIFORM, 2).replay(UNIFORM)
    line = stairs(drawn(replay), DURING).get_data()
    assert list(line.values) == [step.during_bytes for step in replay.steps]
    assert list(line.edges) == [0, *(step.end_ns for step in replay.steps)]


def test_the_area_is_what_stays_after_every_operation() -> None:
    replay = periodic_schedule(UNIFORM, 2).replay(UNIFORM)
    area = stairs(drawn(replay), STAYS).get_data()
    assert list(area.values) == [step.after_bytes for step in replay.steps]


def test_deletions_lower_what_stays_after_the_computation_before_them() -> None:
    # f0 (3 bytes), f1 (4), f2 (3); then f0 and f2 are freed, at no cost in time.
    schedule = GraphSchedule.from_computations(LADDER, [0, 1, 2, 3, 0, 4, 5, 6])
    replay = schedule.replay(LADDER)
    axes = drawn(replay)
    assert list(stairs(axes, DURING).get_data().values) == [
        step.during_bytes for step in replay.steps if step.operation.startswith("compute")
    ]
    area = stairs(axes, STAYS).get_data()
    widths = area.edges[1:] - area.edges[:-1]
    stays = [int(value) for value, width in zip(area.values, widths, strict=True) if width]
    # Memory before the next computation, and nothing but w1 at the end.
    resident = [{0}, {1}, {1, 2}, {1, 3}, {0, 1, 3}, {0, 3, 4}, {0, 4, 5}, {5}]
    assert stays == [sum(LADDER.nodes[n].output_bytes for n in nodes) for nodes in resident]


def test_bytes_become_gibibytes_and_nanoseconds_milliseconds() -> None:
    stages = (
        Stage(name="a", forward_ns=2 * 10**6, backward_ns=10**6, output_bytes=GIB, saved_bytes=GIB),
        Stage(name="loss", forward_ns=10**6, backward_ns=0, output_bytes=0, saved_bytes=0),
    )
    chain = Chain("large", GIB // 2, stages)
    axes = drawn(store_all_schedule(chain).replay(chain))
    line = stairs(axes, DURING).get_data()
    # The input (0.5) and its output (1); the loss adds nothing; back through the loss with the
    # gradient of a (1); back through a with the gradient of the input (0.5) beside all that.
    assert list(line.values) == [1.5, 1.5, 2.5, 3.0]
    assert list(line.edges) == [0.0, 2.0, 3.0, 3.0, 4.0]
    assert axes.get_ylabel() == "memory (GiB)"
    assert axes.get_xlabel() == "time (ms)"


def test_the_limit_is_a_labelled_line_at_the_limit() -> None:
    axes = drawn(store_all_schedule(UNIFORM).replay(UNIFORM, 20))
    (line,) = [item for item in axes.lines if item.get_label() == "limit"]
    assert list(line.get_ydata()) == [20, 20]
    assert text(axes, "limit").get_text() == "limit 20 B"


def test_without_a_limit_there_is_no_limit_line() -> None:
    axes = drawn(store_all_schedule(UNIFORM).replay(UNIFORM))
    assert [line.get_label() for line in axes.lines] == ["peak"]


@pytest.mark.parametrize("chain", [UNIFORM, UNEVEN])
def test_the_peak_is_marked_where_it_is_first_reached(chain: Chain) -> None:
    replay = recompute_all_schedule(chain).replay(chain)
    (marker,) = [line for line in drawn(replay).lines if line.get_label() == "peak"]
    first = next(step for step in replay.steps if step.during_bytes == replay.peak_bytes)
    assert list(marker.get_ydata()) == [replay.peak_bytes]
    assert list(marker.get_xdata()) == [(first.start_ns + first.end_ns) / 2]


def test_a_peak_in_an_operation_of_no_duration_is_part_of_the_line() -> None:
    stages = (
        Stage(name="a", forward_ns=5, backward_ns=5, output_bytes=1, saved_bytes=1),
        Stage(
            name="loss",
            forward_ns=0,
            backward_ns=0,
            output_bytes=0,
            saved_bytes=0,
            forward_overhead_bytes=100,
        ),
    )
    chain = Chain("sudden", 1, stages)
    replay = store_all_schedule(chain).replay(chain)
    line = stairs(drawn(replay), DURING).get_data()
    assert replay.peak_bytes == 102
    assert list(line.values)[1] == 102
    assert line.edges[1] == line.edges[2]


def test_the_strip_tells_forward_recomputed_and_backward_apart() -> None:
    # Two segments of three layers (2 ns forward, 3 ns backward), the loss (1 + 1 ns) with the
    # second; only the three forwards of the first segment run again.
    replay = periodic_schedule(UNIFORM, 2).replay(UNIFORM)
    assert phase_lengths(drawn(replay)) == {
        "forward": 6 * 2 + 1,
        "recomputed forward": 3 * 2,
        "backward": 6 * 3 + 1,
    }


def test_the_strip_of_a_graph_tells_first_computations_from_repeated_ones() -> None:
    schedule = GraphSchedule.from_computations(LADDER, [0, 1, 2, 3, 0, 4, 5, 6])
    assert phase_lengths(drawn(schedule.replay(LADDER))) == {
        "first computation": LADDER.base_time_ns,
        "recomputation": LADDER.nodes[0].duration_ns,
    }


def test_each_direction_of_the_link_has_a_strip_of_its_own() -> None:
    # 20 bytes at a byte per ns leave, and come back.
    schedule = sequence(
        "F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, F_all 4, F_all 5, B 5, B 4, B 3, P_all 1,"
        " B 2, B 1"
    )
    axes = drawn(schedule.replay(UNEVEN, Link(10**9)))
    lengths = phase_lengths(axes)
    assert lengths["to the host"] == lengths["from the host"] == pytest.approx(20)
    strips = {strip.get_label(): strip.get_paths()[0].get_extents() for strip in axes.collections}
    assert strips["from the host"].y1 < strips["to the host"].y0
    assert strips["to the host"].y1 < strips["forward"].y0
    assert strips["from the host"].y0 > axes.get_ylim()[0]


def test_every_phase_shown_is_in_the_legend() -> None:
    legend = drawn(periodic_schedule(UNIFORM, 2).replay(UNIFORM)).get_legend()
    assert legend is not None
    assert [item.get_text() for item in legend.get_texts()] == [
        DURING, STAYS, "forward", "recomputed forward", "backward",
    ]  # fmt: skip


@pytest.mark.parametrize("limit_share", [0.3, 0.99, 1.0, 1.01, 1.05, 1.2, 3.0])
@pytest.mark.parametrize("segments", [1, 2, 6])
def test_the_labels_of_peak_and_limit_do_not_overlap(limit_share: float, segments: int) -> None:
    free = periodic_schedule(UNIFORM, segments).replay(UNIFORM)
    limit = int(free.peak_bytes * limit_share)
    figure = plot_memory(periodic_schedule(UNIFORM, segments).replay(UNIFORM, limit), title="mine")
    figure.draw_without_rendering()
    boxes = [text(figure.axes[0], word).get_window_extent() for word in ("peak", "limit")]
    assert not boxes[0].overlaps(boxes[1])


def test_a_schedule_that_breaks_rules_is_drawn() -> None:
    broken = ChainSchedule(store_all_schedule(UNIFORM).operations[3:9])
    replay = broken.replay(UNIFORM, 2)
    assert not replay.valid
    line = stairs(drawn(replay), DURING).get_data()
    assert list(line.values) == [step.during_bytes for step in replay.steps]


def test_a_schedule_without_operations_is_drawn() -> None:
    figure = plot_memory(ChainSchedule(()).replay(UNIFORM, 8), title="nothing")
    figure.draw_without_rendering()
    assert figure.axes[0].get_xlim() == (0, 1)


def test_a_step_that_takes_no_time_is_drawn() -> None:
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=2)
    chain = Chain("timeless", 1, (loss,))
    figure = plot_memory(store_all_schedule(chain).replay(chain), title="timeless")
    figure.draw_without_rendering()
    assert list(stairs(figure.axes[0], DURING).get_data().edges) == [0, 0, 0]


def test_the_picture_goes_into_the_axes_that_are_given() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    replay = store_all_schedule(UNIFORM).replay(UNIFORM)
    assert plot_memory(replay, title="mine", ax=right) is figure
    assert right.get_title(loc="left") == "mine"
    assert not left.patches


def test_a_drop_lowers_what_stays_and_is_no_computation() -> None:
    text = "F_all 1, F_ck 2, F_all 3, D 2, F_all 4, B 4, F_all 2, B 3, B 2, B 1"
    schedule = sequence(text).computations
    replay = schedule.replay(
        chain_of(1, (1, 2, 3, 0, 0), (1, 2, 3, 0, 0), (1, 2, 3, 0, 0), (1, 0, 1, 0, 0))
    )
    assert replay.valid
    axes = drawn(replay)
    kept = [step for step in replay.steps if step.operation != "D 2"]
    assert list(stairs(axes, DURING).get_data().values) == [step.during_bytes for step in kept]
    dropped = replay.steps[3]
    assert dropped.after_bytes < replay.steps[2].after_bytes
    assert list(stairs(axes, STAYS).get_data().values)[2] == dropped.after_bytes
