"""The picture of a step that repeats shows the numbers of the replay and no others."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jettison import Link, WeightOffload
from jettison.core import Replay
from jettison.schedules.weight_offload.cyclic_plot import plot_cycle
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from tests.weight_offload.cyclic_events import cyclic, layers

BYTE_PER_NS = Link(10**9)


# Two layers, 3 ns forward and 4 ns backward, 1 byte saved, 5 and 2 bytes of weights.
TWO = layers((3, 4, 1, 5), (3, 4, 1, 2))
KEEP_ALL = "B2@0, B1@4, F1@8, F2@11"
# w^1 leaves after F 1, which delays F 2, and comes back from 15 on, into the next period.
STRADDLING = "B2@0, B1@4, upload1@8, F1@8, delete1@13, F2@13, prefetch1@15"


def replayed(period_ns: int, text: str, memory_bytes: int | None = None) -> Replay:
    return cyclic(period_ns, text).replay(TWO, BYTE_PER_NS, memory_bytes)


def drawn(replay: Replay) -> tuple[Figure, Axes, Axes]:
    figure = plot_cycle(replay, title="mine")
    lanes, memory = figure.axes
    return figure, lanes, memory


def spans(axes: Axes, label: str) -> list[tuple[float, float]]:
    """Start and end of the bars of one colour."""
    found = [item for item in axes.collections if str(item.get_label()).startswith(label)]
    if not found:
        return []
    boxes = [path.get_extents() for path in found[0].get_paths()]
    return sorted((float(box.x0), float(box.x1)) for box in boxes)


def texts(axes: Axes) -> list[str]:
    return [item.get_text() for item in axes.texts]


def legend_texts(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [item.get_text() for item in legend.get_texts()]


def test_operations_and_transfers_are_bars_from_their_start_to_their_end() -> None:
    text = "B2@0, B1@4, upload2@4, delete2@6, F1@8, prefetch2@9, F2@11"
    _, lanes, _ = drawn(replayed(14, text))
    assert spans(lanes, "backward") == [(0, 4), (4, 8)]
    assert spans(lanes, "forward") == [(8, 11), (11, 14)]
    # Two bytes, one per nanosecond.
    assert spans(lanes, "to the host") == [(4, 6)]
    assert spans(lanes, "from the host") == [(9, 11)]


def test_what_is_under_way_at_the_end_of_the_period_goes_on_at_its_start() -> None:
    _, lanes, _ = drawn(replayed(16, STRADDLING))
    # The prefetch takes 5 ns from 15 on: one of them in this period, four in the next.
    assert spans(lanes, "from the host") == [(0, 4), (15, 16)]
    assert texts(lanes).count("w1") == 3


def test_a_transfer_longer_than_the_period_fills_its_lane() -> None:
    # Five bytes over a link of one byte in 4 ns take 20 ns.
    replay = cyclic(16, STRADDLING).replay(TWO, Link(10**9 // 4))
    _, lanes, _ = drawn(replay)
    assert spans(lanes, "from the host") == [(0, 16)]


def test_waiting_is_marked_and_counted() -> None:
    _, lanes, memory = drawn(replayed(16, STRADDLING))
    assert spans(lanes, "waiting") == [(11, 13)]
    assert "waiting, 2 ns" in legend_texts(memory)


def test_a_wait_at_the_end_of_the_period_is_marked_too() -> None:
    _, lanes, _ = drawn(replayed(20, KEEP_ALL))
    assert spans(lanes, "waiting") == [(14, 20)]


def test_a_wait_that_is_too_short_to_see_is_drawn_wider() -> None:
    slow = layers((10**6, 10**6, 1, 5))
    replay = cyclic(2 * 10**6 + 1, "B1@0, F1@1000001").replay(slow, BYTE_PER_NS)
    _, lanes, memory = drawn(replay)
    ((start, end),) = spans(lanes, "waiting")
    assert start == 1.0
    assert 1e-6 < end - start < 0.01
    assert "waiting, 1 ns" in legend_texts(memory)


def test_a_step_that_never_waits_has_no_waiting_in_its_legend() -> None:
    _, _, memory = drawn(replayed(14, KEEP_ALL))
    assert legend_texts(memory) == ["backward", "forward", "memory in use"]


def test_the_line_is_the_memory_from_each_moment_on() -> None:
    replay = replayed(14, KEEP_ALL, 20)
    _, _, memory = drawn(replay)
    (line,) = [item for item in memory.lines if item.get_label() == "memory in use"]
    assert line.get_drawstyle() == "steps-post"
    # As the tests of the replay derive, with the end of the period once more.
    assert list(line.get_xdata()) == [0, 4, 8, 11, 14, 14]
    assert list(line.get_ydata()) == [11, 13, 8, 9, 9, 9]


def test_an_operation_of_no_duration_shows_as_a_vertical_line() -> None:
    # B 1 takes no time but needs its gradient of 7 bytes beside the weights.
    momentary = layers((2, 0, 0, 7))
    replay = cyclic(2, "B1@0, F1@0").replay(momentary, BYTE_PER_NS)
    assert replay.peak_bytes == 14
    _, lanes, memory = drawn(replay)
    (line,) = [item for item in memory.lines if item.get_label() == "memory in use"]
    points = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert points[:2] == [(0, 14), (0, 7)]
    assert spans(lanes, "backward") == []


def test_peak_and_limit_are_marked() -> None:
    _, _, memory = drawn(replayed(14, KEEP_ALL, 20))
    assert {"peak 13 B", "limit 20 B"} == set(texts(memory))
    (marker,) = [item for item in memory.lines if item.get_label() == "peak"]
    assert (list(marker.get_xdata()), list(marker.get_ydata())) == ([4], [13])


def test_without_a_limit_there_is_none() -> None:
    _, _, memory = drawn(replayed(14, KEEP_ALL))
    assert "peak 13 B" in texts(memory)
    assert not [text for text in texts(memory) if text.startswith("limit")]


def test_the_axis_of_memory_is_cut_where_weights_that_stay_would_fill_it() -> None:
    # From 8 to 13 bytes: cut 35 % of the 5 bytes of change below the 8.
    _, _, memory = drawn(replayed(14, KEEP_ALL))
    assert memory.get_ylim()[0] == 8 - 0.35 * 5
    assert "axis cut at 6.25 B" in texts(memory)
    # A limit of 20 bytes is more than twice the 8.
    _, _, whole = drawn(replayed(14, KEEP_ALL, 20))
    assert whole.get_ylim()[0] == 0


def test_the_period_has_an_arrow_that_tells_its_length() -> None:
    _, lanes, _ = drawn(replayed(14, KEEP_ALL))
    assert "one period of 14 ns, which repeats" in texts(lanes)


def test_both_axes_have_the_same_time() -> None:
    _, lanes, memory = drawn(replayed(16, STRADDLING))
    assert lanes.get_xlim() == memory.get_xlim() == (0, 16)
    assert memory.get_xlabel() == "time (ns)"
    assert lanes.get_title("left") == "mine"


def test_layers_are_named_where_there_is_room() -> None:
    _, lanes, _ = drawn(replayed(16, STRADDLING))
    assert texts(lanes)[:4] == ["B2", "B1", "F1", "F2"]


def test_the_layers_of_a_long_chain_are_named_together_and_have_thin_edges() -> None:
    cycle = layers(*[(100, 300, 10, 50)] * 146)
    problem = WeightOffload(cycle.chain, "60%", Link(10**9))
    replay = layer_to_layer(problem).replay(cycle, problem.link, problem.memory_bytes)
    figure, lanes, _ = drawn(replay)
    figure.draw_without_rendering()
    assert {"B146 to B1", "F1 to F146"} <= set(texts(lanes))
    computed = [item for item in lanes.collections if item.get_label() in {"forward", "backward"}]
    assert all(0 < max(item.get_linewidth()) < 0.5 for item in computed)
    assert len(spans(lanes, "backward")) == 146


@pytest.mark.parametrize(
    ("period_ns", "text"),
    [
        # F 2 runs on into the next period, where B 2 starts.
        (13, KEEP_ALL),
        (14, "B2@0, B1@4, F1@8"),
        (14, "B2@0, B1@4, upload1@8, F1@8, F2@11, delete1@13"),
        (0, ""),
    ],
)
def test_a_schedule_that_breaks_rules_is_drawn(period_ns: int, text: str) -> None:
    replay = replayed(period_ns, text, 10)
    assert not replay.valid
    figure, _, _ = drawn(replay)
    figure.draw_without_rendering()
    assert figure.axes[0].get_xlim() == (0, period_ns or 1)
