"""Order of the operations of a step on the device: first forwards, reruns, backwards, updates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.solvers.training_chain.stage_choices import JointPlan, UpdatePlace, Way

_FORWARD, _ALL = TrainingEventKind.FORWARD, TrainingEventKind.FORWARD_ALL
_BACKWARD, _UPDATE = TrainingEventKind.BACKWARD, TrainingEventKind.UPDATE


class DeviceOperation(NamedTuple):
    """Operation of the device: its kind and its stage."""

    kind: TrainingEventKind
    stage: int


class StepOrder(NamedTuple):
    """Operations of a step in their order, and the activations that are sent to the host.

    Attributes
    ----------
    operations
        From the first forward operation on.
    sent
        Outputs and all that is saved, by stage: each is away in its longest time between two uses.
    """

    operations: tuple[DeviceOperation, ...]
    sent: frozenset[tuple[StageTensor, int]]


def order_of_plan(chain: Chain, plan: JointPlan) -> StepOrder:
    """Return the order of a plan.

    A stage whose activations are not there when its backward operation comes is computed again,
    from the last stage before it that has an output on; all of these save what they need.
    """
    stages = len(chain)
    choices = plan.stages
    forwards: list[DeviceOperation] = []
    sent: set[tuple[StageTensor, int]] = set()
    for number, choice in enumerate(choices, start=1):
        again = choice.saved is Way.AGAIN
        forwards.append(DeviceOperation(_FORWARD if again else _ALL, number))
        if choice.saved is Way.SENT:
            sent.add((StageTensor.SAVED, number))
        elif again and choice.output is Way.SENT:
            sent.add((StageTensor.OUTPUT, number))
    there = [choice.saved is not Way.AGAIN for choice in choices]
    backwards: list[DeviceOperation] = []
    for number in range(stages, 0, -1):
        if not there[number - 1]:
            first = number
            while first > 1 and not (
                there[first - 2] or choices[first - 2].output is not Way.AGAIN
            ):
                first -= 1
            for again_number in range(first, number + 1):
                backwards.append(DeviceOperation(_ALL, again_number))
                there[again_number - 1] = True
        backwards.append(DeviceOperation(_BACKWARD, number))
    places = [choice.update for choice in choices]
    return StepOrder(with_updates(chain, forwards + backwards, places), frozenset(sent))


def order_of_chain(
    chain: Chain,
    operations: Iterable[ChainOperation],
    sent: frozenset[tuple[StageTensor, int]],
    places: list[UpdatePlace],
) -> StepOrder:
    """Return the order of a schedule with recomputation, updates added; drops follow from it."""
    kinds = {
        ChainOperationKind.FORWARD_ALL: _ALL,
        ChainOperationKind.FORWARD_CHECKPOINT: _FORWARD,
        ChainOperationKind.FORWARD_NONE: _FORWARD,
        ChainOperationKind.BACKWARD: _BACKWARD,
    }
    computed = [
        DeviceOperation(kinds[operation.kind], operation.stage)
        for operation in operations
        if operation.kind in kinds
    ]
    return StepOrder(with_updates(chain, computed, places), sent)


def with_updates(
    chain: Chain, operations: Iterable[DeviceOperation], places: list[UpdatePlace]
) -> tuple[DeviceOperation, ...]:
    """Return operations with the updates of the device in their places."""
    found: list[DeviceOperation] = []
    begun: set[int] = set()
    for operation in operations:
        number = operation.stage
        is_trained = chain.stage(number).is_trained
        if operation.kind is not _BACKWARD and number not in begun:
            begun.add(number)
            if is_trained and places[number - 1] is UpdatePlace.LATE:
                found.append(DeviceOperation(_UPDATE, number))
        found.append(operation)
        is_now = places[number - 1] is UpdatePlace.AT_ONCE
        if operation.kind is _BACKWARD and is_trained and is_now:
            found.append(DeviceOperation(_UPDATE, number))
    return tuple(found)
