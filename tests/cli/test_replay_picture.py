"""Each kind of schedule gets the picture that shows it."""

from __future__ import annotations

from jettison.cli.replay_picture import draw_replay
from jettison.instances.weight_offload import WeightOffload
from jettison.solvers.chain_baselines import store_all_schedule
from jettison.solvers.layer_to_layer import layer_to_layer
from tests.tiny import EQUAL_LAYERS, UNIFORM


def test_a_step_that_repeats_has_lanes_above_its_memory() -> None:
    problem = WeightOffload(EQUAL_LAYERS, "70%", "1GB/s")
    replay = layer_to_layer(problem).replay(problem.cycle, problem.link, problem.memory_bytes)
    lanes, memory = draw_replay(replay, title="mine").axes
    assert [label.get_text() for label in lanes.get_yticklabels()] == [
        "compute",
        "to the host",
        "from the host",
    ]
    assert memory.get_ylabel() == "memory (B)"


def test_any_other_schedule_is_memory_over_time() -> None:
    figure = draw_replay(store_all_schedule(UNIFORM).replay(UNIFORM), title="mine")
    (axes,) = figure.axes
    assert axes.get_ylabel() == "memory (B)"
