"""Random small problems of several models, and random decisions on a unit."""

from __future__ import annotations

import random
from collections.abc import Sequence

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions
from tests.tiny_models import random_models

UNITS = ((1,), (2,), (1, 1), (2, 1), (3, 2))


def random_problem(draw: random.Random) -> tuple[MultiModelTraining, tuple[int, ...]]:
    """Return a problem in which a unit of all models can run, and the sizes of the unit."""
    sizes = draw.choice(UNITS)
    instance = random_models(draw, models=sum(sizes))
    arrays = [instance.sub_array(size) for size in sizes]
    least = sum(array.static_bytes for array in arrays)
    least += max(array.largest_peak_bytes for array in arrays)
    most = max(least, sum(array.store_all_peak_bytes for array in arrays))
    return MultiModelTraining(instance, draw.randint(least, most)), sizes


def random_decisions(draw: random.Random, arrays: Sequence[SubArray]) -> UnitDecisions:
    """Return decisions, of which many do not fit."""
    interleaved: tuple[tuple[int, ...], ...] = ()
    if len(arrays) == 2:
        interleaved = tuple(
            tuple(
                sorted(
                    draw.randint(0, len(arrays[1 - place].forward)) for _ in arrays[place].backward
                )
            )
            for place in (0, 1)
        )
    return UnitDecisions(
        fates=tuple(tuple(draw.choice(list(Fate)) for _ in array.tensors) for array in arrays),
        forward_before=interleaved,
        prompts=tuple(
            {
                place: draw.randrange(len(array.backward))
                for place in range(len(array.tensors))
                if draw.random() < 0.3
            }
            for array in arrays
        ),
    )
