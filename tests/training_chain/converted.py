"""Schedules of weight offloading as training schedules, whose updates take no time."""

from __future__ import annotations

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule

_KINDS = {
    CyclicEventKind.FORWARD: TrainingEventKind.FORWARD_ALL,
    CyclicEventKind.BACKWARD: TrainingEventKind.BACKWARD,
    CyclicEventKind.PREFETCH: TrainingEventKind.PREFETCH,
    CyclicEventKind.UPLOAD: TrainingEventKind.OFFLOAD,
    CyclicEventKind.DELETE: TrainingEventKind.DROP,
}


def training_schedule(schedule: CyclicSchedule, chain: Chain) -> TrainingSchedule:
    """Return the same cycle from its first forward operation on, each stage updated at once.

    A gradient of weights is then in memory while its backward operation runs, as there.
    """
    first = next(
        place
        for place, event in enumerate(schedule.events)
        if event.kind is CyclicEventKind.FORWARD and event.layer == 1
    )
    start_ns = schedule.events[first].start_ns
    shifted = [(event.start_ns - start_ns, event) for event in schedule.events[first:]]
    shifted += [
        (event.start_ns - start_ns + schedule.period_ns, event) for event in schedule.events[:first]
    ]
    # Updates come before whatever else starts when the backward operation ends, and after that
    # operation where it takes no time.
    moments = []
    for when, event in shifted:
        stage = chain.stage(event.layer)
        # Weights of no bytes need not move.
        if event.kind.is_computation or stage.weight_bytes:
            moments.append((when, 1, _event(event, when)))
        if event.kind is CyclicEventKind.BACKWARD and stage.is_trained:
            end_ns = when + stage.backward_ns
            update = TrainingEvent(TrainingEventKind.UPDATE, event.layer, end_ns)
            moments.append((end_ns, int(end_ns == when), update))
    moments.sort(key=lambda moment: moment[:2])
    return TrainingSchedule(schedule.period_ns, tuple(event for _, _, event in moments))


def _event(event: CyclicEvent, start_ns: int) -> TrainingEvent:
    tensor = None if event.kind.is_computation else StageTensor.WEIGHTS
    return TrainingEvent(_KINDS[event.kind], event.layer, start_ns, tensor)
