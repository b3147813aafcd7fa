"""Each kind of problem has the picture that shows its schedules."""

from __future__ import annotations

from jettison import MultiModelTraining, RematChain, WeightOffload
from jettison.solvers.core.registry import kind_of
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from tests.multi_model.unit_text import twins
from tests.tiny import EQUAL_LAYERS, UNIFORM
from tests.tiny_models import mirrored_models


def test_a_step_that_repeats_has_lanes_above_its_memory() -> None:
    problem = WeightOffload(EQUAL_LAYERS, "70%", "1GB/s")
    replay = layer_to_layer(problem).replay(problem.cycle, problem.link, problem.memory_bytes)
    lanes, memory = kind_of(problem).picture(replay, "mine").axes
    assert [label.get_text() for label in lanes.get_yticklabels()] == [
        "compute",
        "to the host",
        "from the host",
    ]
    assert memory.get_ylabel() == "memory (B)"


def test_several_models_have_a_lane_for_each_sub_array() -> None:
    problem = MultiModelTraining(mirrored_models(), 1000)
    replay = twins("B1.0 B1.1 B1.2 B1.3 F2.0 F2.1 F2.2 F2.3").replay(problem)
    lanes, _ = kind_of(problem).picture(replay, "mine").axes
    names = [label.get_text() for label in lanes.get_yticklabels()]
    assert names[:2] == ["sub-array 1", "sub-array 2"]


def test_any_other_schedule_is_memory_over_time() -> None:
    replay = store_all_schedule(UNIFORM).replay(UNIFORM)
    figure = kind_of(RematChain(UNIFORM, "100%")).picture(replay, "mine")
    (axes,) = figure.axes
    assert axes.get_ylabel() == "memory (B)"
