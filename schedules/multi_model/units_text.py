"""Training units as JSON, with operators and feature maps by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.multi_model.instance import MultiModel
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit


def write_units(schedule: MultiModelSchedule, instance: MultiModel) -> list[dict[str, object]]:
    """Return the units as JSON; an operation on the first sub-array is ``["B1", "conv3"]``."""
    names = _names(instance)
    return [
        {
            "sizes": list(unit.sizes),
            "rounds": [
                [
                    [f"{item.action}{item.array + 1}", names[item.action][item.position]]
                    for item in operations
                ]
                for operations in unit.rounds
            ],
        }
        for unit in schedule.units
    ]


def read_units(entries: Sequence[Mapping[str, Any]], instance: MultiModel) -> MultiModelSchedule:
    """Build the schedule from parsed JSON that has passed the schema.

    Raises
    ------
    InputError
        If the instance has no operator or feature map of a name, or no profile of a size.
    """
    places = {
        action: {name: place for place, name in enumerate(names)}
        for action, names in _names(instance).items()
    }
    units = []
    for number, entry in enumerate(entries):
        for place, size in enumerate(entry["sizes"]):
            if size not in instance.sizes:
                raise InputError(
                    f"{size} models",
                    field=f"units[{number}].sizes[{place}]",
                    expected=f"{instance.name} has profiles of "
                    f"{', '.join(map(str, instance.sizes))} models",
                )
        rounds = []
        for round_number, items in enumerate(entry["rounds"]):
            operations = []
            for position, (word, name) in enumerate(items):
                action = MultiModelAction(word[0])
                if name not in places[action]:
                    raise InputError(
                        f"{name!r} is not in {instance.name}",
                        field=f"units[{number}].rounds[{round_number}][{position}][1]",
                        expected="name an operator of the pass after F and B, else a feature map",
                    )
                operations.append(
                    MultiModelOperation(action, int(word[1]) - 1, places[action][name])
                )
            rounds.append(tuple(operations))
        units.append(TrainingUnit(tuple(entry["sizes"]), tuple(rounds)))
    return MultiModelSchedule(tuple(units))


def _names(instance: MultiModel) -> dict[MultiModelAction, list[str]]:
    tensors = [tensor.name for tensor in instance.feature_maps]
    names = dict.fromkeys(MultiModelAction, tensors)
    names[MultiModelAction.FORWARD] = [operator.name for operator in instance.forward]
    names[MultiModelAction.BACKWARD] = [operator.name for operator in instance.backward]
    return names
