"""The picture of a unit shows the numbers of the replay and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.picture_file import save_figure
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.schedules.multi_model.unit_plot import plot_training
from tests.multi_model.unit_text import alone, twins, unit_of
from tests.tiny_models import mirrored_models

# The first case of `test_multi_model_replay`: z0 comes back from 17 to 23, and b3 waits 6 ns.
CASE_1A = twins("F2.0 O2.0 F2.1 F2.2 F2.3 B1.0 B1.1 B1.2 P1.0 B1.3")
PEAKS = {"b2": 42}


def replayed(schedule: MultiModelSchedule, memory: int = 74) -> TrainingReplay:
    models = sum(sum(unit.sizes) for unit in schedule.units)
    instance = mirrored_models(peaks=PEAKS, models=models)
    return schedule.replay(MultiModelTraining(instance, memory))


def drawn(replay: TrainingReplay) -> tuple[Axes, Axes]:
    lanes, memory = plot_training(replay, title="mine").axes
    return lanes, memory


def spans(axes: Axes, label: str) -> list[tuple[float, float]]:
    """Start and end of the bars of one colour, of all lanes."""
    found = [item for item in axes.collections if str(item.get_label()).startswith(label)]
    boxes = [path.get_extents() for item in found for path in item.get_paths()]
    return sorted((round(float(box.x0), 6), round(float(box.x1), 6)) for box in boxes)


def test_operators_of_one_kind_that_follow_each_other_are_one_bar() -> None:
    lanes, _ = drawn(replayed(CASE_1A))
    assert spans(lanes, "forward") == [(0, 8), (26, 34)]
    assert spans(lanes, "backward") == [(8, 17), (23, 26), (34, 43), (49, 52)]


def test_transfers_are_in_the_lane_of_their_direction() -> None:
    lanes, _ = drawn(replayed(CASE_1A))
    assert spans(lanes, "to the host") == [(2, 8), (28, 34)]
    assert spans(lanes, "from the host") == [(17, 23), (43, 49)]


def test_stalls_are_drawn_and_added_up() -> None:
    lanes, memory = drawn(replayed(CASE_1A))
    assert spans(lanes, "waiting, 12 ns") == [(17, 23), (43, 49)]
    legend = memory.get_legend()
    assert legend is not None
    assert "waiting, 12 ns" in [item.get_text() for item in legend.get_texts()]


def test_memory_is_that_of_the_replay_with_its_peak_and_limit() -> None:
    replay = replayed(CASE_1A)
    _, memory = drawn(replay)
    (line,) = (item for item in memory.lines if item.get_label() == "memory in use")
    shown = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert shown == [*replay.memory_profile[:-1], (52, replay.memory_profile[-2][1])]
    assert {"peak 74 B", "limit 74 B"} <= {item.get_text() for item in memory.texts}


def test_a_pair_has_two_lanes_for_its_sub_arrays_and_a_line_between_its_rounds() -> None:
    lanes, memory = drawn(replayed(CASE_1A))
    names = [label.get_text() for label in lanes.get_yticklabels()]
    assert names == ["sub-array 1", "sub-array 2", "to the host", "from the host"]
    for axes in (lanes, memory):
        assert [26, 26] in [list(map(float, line.get_xdata())) for line in axes.lines]  # type: ignore[arg-type]


def test_a_sub_array_alone_has_one_lane() -> None:
    lanes, _ = drawn(replayed(alone("F1.0 F1.1 F1.2 F1.3 B1.0 B1.1 B1.2 B1.3")))
    names = [label.get_text() for label in lanes.get_yticklabels()]
    assert names == ["compute", "to the host", "from the host"]


def test_all_units_are_drawn_with_the_names_of_their_models() -> None:
    quick = unit_of((1,), "F1.0 F1.1 F1.2 F1.3 B1.0 B1.1 B1.2 B1.3")
    replay = replayed(MultiModelSchedule((quick, *CASE_1A.units, quick)))
    assert replay.unit_ends_ns == (20, 72, 92)
    assert replay.unit_models == (("mirrored 1",), ("mirrored 2", "mirrored 3"), ("mirrored 4",))
    lanes, memory = drawn(replay)
    assert lanes.get_title(loc="left") == "mine"
    assert lanes.get_xlim() == (0, 92)
    assert spans(lanes, "waiting") == [(37, 43), (63, 69)]
    names = [item.get_text() for item in lanes.texts]
    assert names[:1] == ["unit 1: mirrored 1"]
    assert "unit 2: mirrored 2 and mirrored 3" in names
    for axes in (lanes, memory):
        ends = [float(line.get_xdata()[0]) for line in axes.lines if line.get_linestyle() == "-"]  # type: ignore[index, arg-type]
        assert {20.0, 72.0} <= set(ends)
    assert memory.get_xlabel() == "time (ns)"


def test_a_direction_of_the_link_that_is_not_used_says_so() -> None:
    lanes, _ = drawn(replayed(alone("F1.0 F1.1 F1.2 F1.3 B1.0 B1.1 B1.2 B1.3")))
    names = [item.get_text() for item in lanes.texts]
    assert "nothing moves to the host" in names
    assert "nothing moves from the host" in names


@pytest.mark.parametrize("text", ["F1.0", "B1.3 P1.0", ""])
def test_a_schedule_that_breaks_rules_is_drawn_too(text: str, tmp_path: Path) -> None:
    figure = plot_training(replayed(alone(text), 3), title="mine")
    save_figure(figure, tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_a_schedule_without_units_is_drawn_empty() -> None:
    problem = MultiModelTraining(mirrored_models(), 10)
    drawn(MultiModelSchedule(()).replay(problem))
