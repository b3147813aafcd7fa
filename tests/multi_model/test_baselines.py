"""HFTA without saving memory: the largest groups that fit with everything kept."""

from __future__ import annotations

import pytest

from jettison import MultiModelTraining, solve
from jettison.instances.generators.random_models import RandomModels
from jettison.multi_model import MultiModelSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.multi_model.baselines import largest_first, solve_hfta
from tests.tiny_models import mirrored_models

OPTIONS = SolveOptions()


@pytest.mark.parametrize(
    ("models", "sizes", "groups"),
    [
        (8, [1, 2, 3], [3, 3, 2]),
        (6, [1, 2, 3], [3, 3]),
        # After one group of 4, 3 models would be left without a profile.
        (7, [2, 4, 5], [5, 2]),
        (8, [3, 5], [5, 3]),
        (4, [3, 5], None),
        (2, [], None),
    ],
)
def test_groups_are_as_large_as_possible(
    models: int, sizes: list[int], groups: list[int] | None
) -> None:
    assert largest_first(models, sizes) == groups


def test_groups_run_one_after_another_and_take_the_sum_of_their_times() -> None:
    instance = RandomModels(operators=10, tensors=4, models=5).draw(3)
    # Two fused models fit with everything kept, and three do not.
    memory = instance.sub_array(3).store_all_peak_bytes - 1
    assert instance.sub_array(2).store_all_peak_bytes <= memory
    result = solve(MultiModelTraining(instance, memory), "hfta")
    assert isinstance(result.schedule, MultiModelSchedule)
    assert [unit.sizes for unit in result.schedule.units] == [(2,), (2,), (1,)]
    times = [instance.sub_array(size).compute_ns for size in (2, 2, 1)]
    assert result.time_ns == sum(times)
    assert result.peak_bytes == instance.sub_array(2).store_all_peak_bytes


def test_without_room_for_every_feature_map_of_one_model_there_is_no_schedule() -> None:
    # A model needs 42 bytes with everything kept, and 12 at least.
    found = solve_hfta(MultiModelTraining(mirrored_models(), 41), OPTIONS)
    assert found.schedule is None
    assert found.infeasibility is None
    assert found.note == "no sub-arrays that add up to the models fit with every feature map kept"
    result = solve(MultiModelTraining(mirrored_models(), 41), "hfta")
    assert result.status == "not-found"
