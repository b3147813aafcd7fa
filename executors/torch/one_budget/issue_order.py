"""Order in which the events of a training schedule are issued to the device and its link.

A stream runs what it is given in order, and a transfer waits for what was issued before it. So what
starts while an operation runs is issued before that operation, where this is right: a transfer to
the host always, since nothing that an operation makes is ready before its end; one to the device if
the memory is free by then: the peak is no higher than that of the replay. All other events keep
their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.schedules.training_chain.training_verdict import TrainingVerdict


def issue_order(
    schedule: TrainingSchedule,
    verdict: TrainingVerdict,
    sizes: dict[tuple[StageTensor, int], int],
) -> tuple[TrainingEvent, ...]:
    """Return the events of a period in the order in which they are issued.

    :math:`O(n m)` for n events and m moments of the profile.

    Parameters
    ----------
    schedule, verdict
        The schedule and its replay.
    sizes
        Bytes of each tensor by stage.
    """
    room = _Room(verdict.memory_profile, verdict.peak_bytes)
    host_updates = {
        step.operation: step for step in verdict.steps if verdict.lane_of(step) == "host"
    }
    ends = {
        (step.operation, step.start_ns): step.end_ns
        for step in verdict.steps
        if verdict.lane_of(step) == "device"
    }
    order: list[TrainingEvent] = []
    # Where the operation that runs stands in the order, and what has been issued since.
    running: int | None = None
    start_ns = end_ns = 0
    for event in schedule.events:
        if event.kind.is_computation and event.kind is not TrainingEventKind.HOST_UPDATE:
            order.append(event)
            running, start_ns = len(order) - 1, event.start_ns
            end_ns = ends.get((str(event), start_ns), start_ns)
            continue
        early = (
            running is not None
            and event.start_ns < end_ns
            and event.kind.is_transfer
            and not _touches(order[running + 1 :], event)
        )
        if early and event.kind is TrainingEventKind.PREFETCH:
            assert event.tensor is not None
            changing = host_updates.get(f"{TrainingEventKind.HOST_UPDATE} {event.stage}")
            if changing is not None and event.tensor is StageTensor.WEIGHTS:
                # The host is waited for when the weights are, which must not hold up the operation.
                is_later = changing.start_ns > event.start_ns
                ready_ns = changing.end_ns - (schedule.period_ns if is_later else 0)
                early = ready_ns <= start_ns
            early = early and room.take(start_ns, event.start_ns, sizes[event.tensor, event.stage])
        if early:
            assert running is not None
            order.insert(running, event)
            running += 1
        else:
            order.append(event)
    return tuple(order)


def _touches(events: Sequence[TrainingEvent], event: TrainingEvent) -> bool:
    """Tell whether events move the tensor of another, or update its stage."""
    return any(
        other.stage == event.stage and other.tensor in {event.tensor, None} for other in events
    )


class _Room:
    """Memory that is free over a period, of which transfers that begin earlier take some."""

    def __init__(self, profile: Sequence[tuple[int, int]], limit_bytes: int) -> None:
        self._profile = profile
        self._limit_bytes = limit_bytes
        self._taken: list[tuple[int, int, int]] = []

    def take(self, start_ns: int, end_ns: int, size_bytes: int) -> bool:
        """Take memory in addition from one time to another, if there is enough; tell whether."""
        level = used = 0
        for when_ns, level_bytes in self._profile:
            if when_ns >= end_ns:
                break
            if when_ns <= start_ns:
                level = level_bytes
            else:
                used = max(used, level_bytes)
        used = max(used, level)
        used += sum(size for begin, end, size in self._taken if begin < end_ns and start_ns < end)
        if used + size_bytes > self._limit_bytes:
            return False
        self._taken.append((start_ns, end_ns, size_bytes))
        return True
