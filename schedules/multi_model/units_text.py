"""Training units as JSON, with operators and feature maps by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.multi_model.architecture import Architecture
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.sub_array_key import Key, key_of, parts_of
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit


def write_units(schedule: MultiModelSchedule, instance: MultiModel) -> list[dict[str, object]]:
    """Return the units as JSON; an operation on the first sub-array is ``["B1", "conv3"]``."""
    names = [_names(item) for item in instance.architectures]
    return [_write_unit(unit, names) for unit in schedule.units]


def _write_unit(
    unit: TrainingUnit, names: Sequence[Mapping[MultiModelAction, list[str]]]
) -> dict[str, object]:
    parts = [parts_of(key) for key in unit.sizes]
    others = [architecture for architecture, _ in parts]
    return {
        "sizes": [models for _, models in parts],
        **({"architectures": others} if any(others) else {}),
        "rounds": [
            [
                [
                    f"{item.action}{item.array + 1}",
                    names[others[item.array]][item.action][item.position],
                ]
                for item in operations
            ]
            for operations in unit.rounds
        ],
    }


def read_units(entries: Sequence[Mapping[str, Any]], instance: MultiModel) -> MultiModelSchedule:
    """Build the schedule from parsed JSON that has passed the schema.

    Raises
    ------
    InputError
        If the instance has no operator or feature map of a name, or no profile of a size.
    """
    places = [
        {
            action: {name: place for place, name in enumerate(names)}
            for action, names in _names(item).items()
        }
        for item in instance.architectures
    ]
    units = []
    for number, entry in enumerate(entries):
        keys = _read_keys(entry, instance, f"units[{number}]")
        rounds = []
        for round_number, items in enumerate(entry["rounds"]):
            operations = []
            for position, (word, name) in enumerate(items):
                action, array = MultiModelAction(word[0]), int(word[1]) - 1
                # The replay refuses what names a sub-array that the unit does not have.
                architecture = parts_of(keys[min(array, len(keys) - 1)])[0]
                known = places[architecture][action]
                if name not in known:
                    raise InputError(
                        f"{name!r} is not in {instance.architectures[architecture].name}",
                        field=f"units[{number}].rounds[{round_number}][{position}][1]",
                        expected="name an operator of the pass after F and B, else a feature map",
                    )
                operations.append(MultiModelOperation(action, array, known[name]))
            rounds.append(tuple(operations))
        units.append(TrainingUnit(keys, tuple(rounds)))
    return MultiModelSchedule(tuple(units))


def _read_keys(entry: Mapping[str, Any], instance: MultiModel, where: str) -> tuple[Key, ...]:
    sizes = entry["sizes"]
    architectures = entry.get("architectures", [0] * len(sizes))
    if len(architectures) != len(sizes):
        raise InputError(
            f"{len(architectures)} entries for {len(sizes)} sub-arrays",
            field=f"{where}.architectures",
            expected="write one for each of `sizes`, or leave it out",
        )
    for place, (architecture, size) in enumerate(zip(architectures, sizes, strict=True)):
        if architecture > len(instance.others):
            raise InputError(
                f"{architecture}",
                field=f"{where}.architectures[{place}]",
                expected=f"{instance.name} has architectures 0 to {len(instance.others)}",
            )
        own = instance.architectures[architecture]
        if size not in own.sizes:
            raise InputError(
                f"{size} models",
                field=f"{where}.sizes[{place}]",
                expected=f"{own.name} has profiles of {', '.join(map(str, own.sizes))} models",
            )
    return tuple(key_of(*item) for item in zip(architectures, sizes, strict=True))


def _names(instance: Architecture) -> dict[MultiModelAction, list[str]]:
    tensors = [tensor.name for tensor in instance.feature_maps]
    names = dict.fromkeys(MultiModelAction, tensors)
    names[MultiModelAction.FORWARD] = [operator.name for operator in instance.forward]
    names[MultiModelAction.BACKWARD] = [operator.name for operator in instance.backward]
    return names
