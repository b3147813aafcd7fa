"""The least memory for several models: a schedule in it, and a proof of none below."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison import MultiModel, MultiModelTraining
from jettison.multi_model import MultiModelSchedule
from jettison.solvers.multi_model.decisions import least_memory_decisions
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_memory import (
    least_array_bytes,
    multi_model_infeasibility,
)
from tests.tiny_models import mirrored_models, random_models


def divisions(models: int, sizes: tuple[int, ...]) -> list[list[int]]:
    """Return all ways to write a number as a sum of descending sizes."""
    if models == 0:
        return [[]]
    return [
        [size, *rest]
        for size in sizes
        if size <= models
        for rest in divisions(models - size, tuple(item for item in sizes if item <= size))
    ]


def most_bytes(instance: MultiModel, division: list[int]) -> int:
    return max(least_array_bytes(instance.sub_array(size)) for size in division)


def best_division(instance: MultiModel) -> list[int]:
    return min(
        divisions(instance.models, instance.sizes),
        key=lambda division: most_bytes(instance, division),
    )


def test_it_is_the_least_over_all_divisions() -> None:
    draw = random.Random(2)
    for _ in range(200):
        sizes = draw.choice([(1, 2, 3), (1, 3), (2, 3), (1,), (3, 4, 5)])
        instance = random_models(draw, sizes=sizes, models=draw.randint(8, 12))
        least = most_bytes(instance, best_division(instance))
        if least == 0:
            continue
        assert multi_model_infeasibility(MultiModelTraining(instance, least)) is None
        refused = multi_model_infeasibility(MultiModelTraining(instance, least - 1))
        assert refused is not None
        assert refused.is_exact
        assert refused.least_memory_bytes == least


def test_in_the_least_memory_every_model_can_be_trained() -> None:
    draw = random.Random(3)
    for _ in range(50):
        instance = random_models(draw, sizes=(2, 3), models=7)
        division = best_division(instance)
        problem = MultiModelTraining(instance, most_bytes(instance, division))
        units = []
        for size in division:
            executor = UnitExecutor(problem, (size,))
            executed = executor.execute(least_memory_decisions(executor.arrays))
            assert executed is not None
            units.append(executed.unit)
        replay = MultiModelSchedule(tuple(units)).replay(problem)
        assert replay.valid
        assert replay.peak_bytes == problem.memory_bytes


def test_it_names_the_operator_that_needs_most() -> None:
    instance = mirrored_models(peaks={"b2": 50})
    refused = multi_model_infeasibility(MultiModelTraining(instance, 49))
    assert refused is not None
    assert (refused.least_memory_bytes, refused.needed_by) == (50, "b2")


def test_of_fused_models_it_says_how_many() -> None:
    one = mirrored_models(peaks={"b2": 50}, models=6)
    # Only sub-arrays of three have a profile.
    instance = replace(one, sizes=(3,))
    refused = multi_model_infeasibility(MultiModelTraining(instance, 49))
    assert refused is not None
    assert refused.needed_by == "b2 of 3 fused models"
