"""Units written as texts: ``B1.0`` is the first backward operator of the first sub-array."""

from __future__ import annotations

from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit


def unit_of(sizes: tuple[int, ...], *rounds: str) -> TrainingUnit:
    """Return the unit with one text for each round."""
    return TrainingUnit(sizes, tuple(tuple(map(_operation, text.split())) for text in rounds))


def alone(text: str) -> MultiModelSchedule:
    """Return the schedule of one model alone."""
    return MultiModelSchedule((unit_of((1,), text),))


def twins(text: str) -> MultiModelSchedule:
    """Return a pair of single models whose second round is the first with the two exchanged."""
    exchanged = " ".join(word[0] + "21"[int(word[1]) - 1] + word[2:] for word in text.split())
    return MultiModelSchedule((unit_of((1, 1), text, exchanged),))


def _operation(word: str) -> MultiModelOperation:
    name, position = word.split(".")
    return MultiModelOperation(MultiModelAction(name[0]), int(name[1]) - 1, int(position))
