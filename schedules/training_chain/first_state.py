"""State in which the warm-up period of a training schedule starts, read off its events."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.tensors import Block, StageTensors


def first_state(chain: Chain, events: Sequence[TrainingEvent]) -> list[StageTensors]:
    """Return the tensors of each stage at the start of the warm-up period.

    Weights and states are on the device unless they are prefetched before they are dropped. Where
    an update stands before the backward operation of its stage, a step has run back before, and its
    gradient is where the first event that needs it finds it. The host has the newest version of
    what is not on the device, and of what is dropped before it is offloaded.
    """
    stages = []
    for number, given in enumerate(chain, start=1):
        own = [event for event in events if event.stage == number]
        sizes = {
            StageTensor.WEIGHTS: given.weight_bytes,
            StageTensor.STATES: given.optimizer_state_bytes,
            StageTensor.GRADIENT: given.gradient_of_weights_bytes,
            StageTensor.SAVED: given.saved_bytes,
            StageTensor.OUTPUT: given.output_bytes,
        }
        stage = StageTensors({name: Block(size) for name, size in sizes.items()})
        stage.updates_on_host = any(event.kind is TrainingEventKind.HOST_UPDATE for event in own)
        _place_weights(stage, own)
        _place_gradient(stage, own)
        stages.append(stage)
    return stages


def _place_weights(stage: StageTensors, own: Sequence[TrainingEvent]) -> None:
    for name in (StageTensor.WEIGHTS, StageTensor.STATES):
        block = stage.blocks[name]
        moves = [event.kind for event in own if event.tensor is name]
        block.is_resident = TrainingEventKind.PREFETCH not in moves[:1]
        if stage.updates_on_host:
            block.hosted_version = 0
            if name is StageTensor.STATES:
                block.is_resident = False
        elif moves and moves[0] is not TrainingEventKind.OFFLOAD:
            block.hosted_version = 0


def _place_gradient(stage: StageTensors, own: Sequence[TrainingEvent]) -> None:
    kinds = [event.kind for event in own if event.kind.is_computation]
    updates = [place for place, kind in enumerate(kinds) if kind.is_update]
    if not updates or TrainingEventKind.BACKWARD not in kinds[updates[0] :]:
        return
    stage.backwards = 1
    block = stage.blocks[StageTensor.GRADIENT]
    block.version = 1
    first = next(
        event.kind for event in own if event.tensor is StageTensor.GRADIENT or event.kind.is_update
    )
    on_host = first in {TrainingEventKind.PREFETCH, TrainingEventKind.HOST_UPDATE}
    block.is_resident = not on_host
    if on_host or first is TrainingEventKind.DROP:
        block.hosted_version = 1
