"""Order of the events of a schedule, as the point of the event model from which HiGHS begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Place, Prefetch
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.weight_offload.events.event_order import EventOrder


@dataclass(frozen=True)
class _Cycle:
    """Events of a schedule in a frame that begins with the backward of the last layer.

    Attributes
    ----------
    problem
        The problem.
    period_ns
        The period.
    events
        The events by time; those at one moment in the order in which they happen.
    """

    problem: WeightOffload
    period_ns: int
    events: tuple[CyclicEvent, ...]

    @classmethod
    def of(cls, problem: WeightOffload, schedule: CyclicSchedule) -> _Cycle:
        first = (CyclicEventKind.BACKWARD, problem.cycle.num_layers)
        events, period_ns = schedule.events, schedule.period_ns
        head = next(
            place for place, event in enumerate(events) if (event.kind, event.layer) == first
        )
        shift_ns = events[head].start_ns
        ahead = [_moved(event, -shift_ns) for event in events[head:]]
        behind = [_moved(event, period_ns - shift_ns) for event in events[:head]]
        return cls(problem, period_ns, (*ahead, *behind))

    def order(self) -> EventOrder:
        """Return the order, with every event that a schedule can do without left out."""
        ends_ns: dict[int, int] = {}
        starts_ns: dict[Prefetch, int] = {}
        places: dict[int | Prefetch, Place] = {}
        for layer, size in enumerate(self.problem.cycle.weight_bytes, start=1):
            since = self._of_layer(layer) if size else []
            for gap, found in enumerate(_gaps(since)):
                if any(event.kind is CyclicEventKind.DELETE for event in found):
                    x = Prefetch(layer, gap)
                    # Weights stay away until the last prefetch before their use.
                    last = [item for item in found if item.kind is CyclicEventKind.PREFETCH][-1]
                    starts_ns[x] = last.start_ns
                    places[x] = self._place_of_start(last)
            if any(x.layer == layer for x in starts_ns):
                upload = next(item for item in since if item.kind is CyclicEventKind.UPLOAD)
                lasts_ns = self.problem.link.transfer_ns(size)
                # The end of the frame is in it, its beginning belongs to the one before.
                ends_ns[layer] = (upload.start_ns + lasts_ns - 1) % self.period_ns + 1
                places[layer] = self._place_of_end(ends_ns[layer])
        return EventOrder(
            self.problem,
            {i: places[i] for i in sorted(ends_ns, key=ends_ns.__getitem__)},
            {x: places[x] for x in sorted(starts_ns, key=starts_ns.__getitem__)},
            frozenset(
                (j, x)
                for x, start_ns in starts_ns.items()
                for j, end_ns in ends_ns.items()
                if j != x.layer and end_ns <= start_ns
            ),
        )

    def _of_layer(self, layer: int) -> list[CyclicEvent]:
        """Return the events of a layer from its backward on, around the cycle."""
        own = [event for event in self.events if event.layer == layer]
        first = next(n for n, event in enumerate(own) if event.kind is CyclicEventKind.BACKWARD)
        return own[first:] + own[:first]

    def _operations(self) -> list[tuple[int, CyclicEvent]]:
        return [(n, event) for n, event in enumerate(self.events) if event.kind.is_computation]

    def _place_of_start(self, event: CyclicEvent) -> Place:
        position = self.events.index(event)
        before = [operation for n, operation in self._operations() if n < position]
        return self._place(len(before) - 1, before[-1], event.start_ns, has_ended=True)

    def _place_of_end(self, end_ns: int) -> Place:
        before = [operation for _, operation in self._operations() if operation.start_ns < end_ns]
        return self._place(len(before) - 1, before[-1], end_ns, has_ended=False)

    def _place(self, k: int, event: CyclicEvent, time_ns: int, *, has_ended: bool) -> Place:
        """Return the place during or after operation k; at its end it `has_ended` or not."""
        until_ns = event.start_ns + self.problem.cycle.operations[k].duration_ns
        return Place(k, is_idle=time_ns > until_ns or (has_ended and time_ns == until_ns))


def _moved(event: CyclicEvent, by_ns: int) -> CyclicEvent:
    return CyclicEvent(event.kind, event.layer, event.start_ns + by_ns)


def _gaps(since: list[CyclicEvent]) -> tuple[list[CyclicEvent], list[CyclicEvent]]:
    """Split the events of a layer since its backward at its forward."""
    kinds = [event.kind for event in since]
    middle = kinds.index(CyclicEventKind.FORWARD) if since else 0
    return since[:middle], since[middle:]


def order_of_schedule(problem: WeightOffload, schedule: CyclicSchedule) -> EventOrder:
    """Return the order of the events of a valid schedule, which may make it faster.

    Second absences of a gap, second uploads and what moves no bytes are left out, and weights are
    deleted at once.
    """
    return _Cycle.of(problem, schedule).order()


def start_point(frame: EventFrame, model: ArrayModel, order: EventOrder, period_ns: int) -> Floats:
    """Return the integer columns of an order; the others, NaN, follow by a linear program."""
    uploads, prefetches = list(order.uploads), list(order.prefetches)
    chosen = {"T": period_ns / frame.time_scale.unit / frame.time_scale.factor}
    for place, i in enumerate(uploads):
        chosen |= {f"c_{i}": 1, f"qC_{i}_{order.uploads[i].number}": 1}
        chosen |= {f"oC_{i}_{j}": 1 for j in uploads[place:] if i < j}
    for place, x in enumerate(prefetches):
        own = f"{x.layer}_{x.gap}"
        chosen |= {f"y_{own}": 1, f"qP_{own}_{order.prefetches[x].number}": 1}
        chosen |= {f"oP_{own}_{z.layer}_{z.gap}": 1 for z in prefetches[place:] if x < z}
    chosen |= {f"dC_{j}_{x.layer}_{x.gap}": 1 for j, x in order.ended}
    return np.array(
        [
            chosen.get(name, 0.0) if is_integer or name == "T" else np.nan
            for name, is_integer in zip(model.column_names, model.integer.tolist(), strict=True)
        ]
    )
