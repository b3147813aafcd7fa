"""Random small problems of several models, random decisions on a unit, and changed units."""

from __future__ import annotations

import random
from collections.abc import Sequence

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import TrainingUnit
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


def changed_unit(draw: random.Random, unit: TrainingUnit) -> TrainingUnit:
    """Move an operation a little, leave it out, repeat it, replace it, or add another one."""
    rounds = [list(operations) for operations in unit.rounds]
    operations = draw.choice(rounds)
    place = draw.randrange(len(operations))
    match draw.randrange(8):
        case 0:
            operations.pop(place)
        case 1:
            operations.insert(draw.randint(0, len(operations)), operations[place])
        case 2:
            operations.insert(place, _random_operation(draw, len(unit.sizes)))
        case 3:
            operations[place] = _random_operation(draw, len(unit.sizes))
        case _:
            target = place + draw.choice([-3, -2, -1, 1, 2, 3])
            operations.insert(max(target, 0), operations.pop(place))
    return TrainingUnit(unit.sizes, tuple(map(tuple, rounds)))


def _random_operation(draw: random.Random, arrays: int) -> MultiModelOperation:
    return MultiModelOperation(
        draw.choice(list(MultiModelAction)), draw.randrange(arrays), draw.randrange(5)
    )
