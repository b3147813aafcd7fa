"""The least time of a sub-array alone by every list in which a feature map leaves at most once.

Feature maps need nothing to be recomputed from. Each leaves at any place between its uses, by an
offload or a discard, and comes back at any place after that. The second judge (`clock`) says how
long a list takes, on a link of any kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import TrainingUnit
from tests.multi_model.oracles.clock import judge_unit

Items = tuple[tuple[str, int], ...]


def least_alone_ns(problem: MultiModelTraining, models: int) -> int | None:
    """Return the least time of so many models fused; None if nothing fits."""
    array = problem.sub_array(models)
    assert not any(tensor.sources for tensor in array.tensors)
    found = []
    for items in _lists(array, ()):
        operations = tuple(
            MultiModelOperation(MultiModelAction(letter), 0, place) for letter, place in items
        )
        judged = judge_unit(problem, TrainingUnit((models,), (operations,)))
        if judged is not None:
            found.append(judged[0])
    return min(found, default=None)


def _lists(array: SubArray, so_far: Items) -> Iterator[Items]:
    forwards = sum(letter == "F" for letter, _ in so_far)
    backwards = sum(letter == "B" for letter, _ in so_far)
    if backwards == len(array.backward):
        yield so_far
        return
    needed = []
    for place, tensor in enumerate(array.tensors):
        moves = [letter for letter, which in so_far if which == place and letter in "ODPR"]
        if forwards <= tensor.last_forward or backwards > tensor.first_backward:
            continue
        if not moves:
            yield from _lists(array, (*so_far, ("O", place)))
            yield from _lists(array, (*so_far, ("D", place)))
        elif len(moves) == 1:
            needed.append(tensor.first_backward)
            if moves == ["O"]:
                yield from _lists(array, (*so_far, ("P", place)))
            yield from _lists(array, (*so_far, ("R", place)))
    if forwards < len(array.forward):
        yield from _lists(array, (*so_far, ("F", forwards)))
    elif backwards not in needed:
        yield from _lists(array, (*so_far, ("B", backwards)))
