r"""Order of the events of one period: what a point of the event model says, without its times.

Where every upload and every prefetch has its place among the operations, and the transfers of each
direction their order, memory is settled, and each rule that is left says that one event is no
earlier than another plus a duration, perhaps in the period before: :math:`t_B \ge t_A + c - \omega
T`. The least period and the times are then those of longest paths (`least_times`), in integers,
whatever the tolerances of a solver were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Place, Prefetch
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.weight_offload.events.longest_paths import Arc, least_times


@dataclass(frozen=True)
class EventOrder:
    """Order of a period's events, in the form that the model `least_period` assumes.

    Attributes
    ----------
    problem
        The problem.
    uploads
        The place in which the upload of each moving layer ends, in the order of the frame.
    prefetches
        The place in which each prefetch starts, in the order of the frame.
    ended
        Pairs of a layer and a prefetch, of which the layer's upload ends first in the frame.
    """

    problem: WeightOffload
    uploads: Mapping[int, Place]
    prefetches: Mapping[Prefetch, Place]
    ended: frozenset[tuple[int, Prefetch]]

    @classmethod
    def from_point(cls, frame: EventFrame, values: Mapping[str, float]) -> EventOrder:
        """Return the order that a point of the model states; `values` are those of its columns."""

        def is_set(name: str) -> bool:
            return values[name] > 0.5

        def comes_before(kind: str, first: str, second: str, is_listed: bool) -> bool:
            name = f"{kind}_{first}_{second}" if is_listed else f"{kind}_{second}_{first}"
            return is_set(name) == is_listed

        uploads = {
            i: at
            for i in frame.layers
            for at in frame.upload_places(i)
            if is_set(f"qC_{i}_{at.number}")
        }
        prefetches = {
            x: at
            for x in frame.prefetches
            for at in frame.prefetch_places(x)
            if is_set(f"qP_{_of(x)}_{at.number}")
        }
        before_upload = {
            j: sum(comes_before("oC", str(i), str(j), i < j) for i in uploads if i != j)
            for j in uploads
        }
        before_prefetch = {
            x: sum(comes_before("oP", _of(z), _of(x), z < x) for z in prefetches if z != x)
            for x in prefetches
        }
        return cls(
            frame.problem,
            {i: uploads[i] for i in sorted(uploads, key=before_upload.__getitem__)},
            {x: prefetches[x] for x in sorted(prefetches, key=before_prefetch.__getitem__)},
            frozenset(
                (j, x)
                for x in prefetches
                for j in uploads
                if j != x.layer and is_set(f"dC_{j}_{_of(x)}")
            ),
        )

    @cached_property
    def _frame(self) -> EventFrame:
        return EventFrame(self.problem, 0, 0, has_idle_places=True)

    def schedule(self) -> CyclicSchedule | None:
        """Return the fastest schedule in this order, or None if it contradicts itself.

        Notes
        -----
        Some passes of Bellman and Ford over about 10 L events, each of :math:`O(L^2)`.
        """
        found = least_times(list(self._arcs()), self.problem.base_time_ns)
        if found is None:
            return None
        period_ns, times_ns = found
        return CyclicSchedule(period_ns, tuple(self._events(period_ns, times_ns)))

    def _arcs(self) -> Iterator[Arc]:
        operations = self.problem.cycle.operations
        for k, operation in enumerate(operations):
            is_last = k + 1 == len(operations)
            yield Arc(k, 0 if is_last else k + 1, operation.duration_ns, int(is_last))
        for i, at in self.uploads.items():
            yield from self._within(("C", i), at)
            yield self._upload_after_backward(i, at)
        for x, at in self.prefetches.items():
            yield from self._within(x, at)
            yield from self._around_absence(x, at)
        yield from self._one_at_a_time()
        for j, x in self.ended:
            yield Arc(("C", j), x, 0, 0)

    def _within(self, event: object, at: Place) -> Iterator[Arc]:
        """Yield what keeps an event within its place and the frame."""
        duration_ns = self.problem.cycle.operations[at.operation].duration_ns
        yield Arc(0, event, 0, 0)
        yield Arc(event, 0, 0, 1)
        yield Arc(at.operation, event, duration_ns if at.is_idle else 0, 0)
        if not at.is_idle:
            yield Arc(event, at.operation, -duration_ns, 0)
        elif at.operation + 1 < len(self.problem.cycle):
            yield Arc(event, at.operation + 1, 0, 0)

    def _transfer_ns(self, layer: int) -> int:
        return self.problem.link.transfer_ns(self.problem.cycle.weight_bytes[layer - 1])

    def _upload_after_backward(self, layer: int, at: Place) -> Arc:
        k = self.problem.cycle.backward_index(layer)
        lasts_ns = self.problem.cycle.operations[k].duration_ns + self._transfer_ns(layer)
        return Arc(k, ("C", layer), lasts_ns, int(self._frame.is_wrapped(layer, at)))

    def _around_absence(self, x: Prefetch, at: Place) -> Iterator[Arc]:
        """Yield what puts a prefetch between the upload of its layer and its use."""
        i = x.layer
        is_wrapped = self._frame.is_wrapped(i, at)
        if x.gap == 0:
            due, periods = self.problem.cycle.forward_index(i), 0
        else:
            due, periods = self.problem.cycle.backward_index(i), int(not is_wrapped)
        yield Arc(x, due, self._transfer_ns(i), periods)
        was_wrapped = self._frame.is_wrapped(i, self.uploads[i])
        yield Arc(("C", i), x, 0, int(is_wrapped) - int(was_wrapped))

    def _one_at_a_time(self) -> Iterator[Arc]:
        uploads, prefetches = list(self.uploads), list(self.prefetches)
        for i, j in zip(uploads, uploads[1:] + uploads[:1], strict=True):
            yield Arc(("C", i), ("C", j), self._transfer_ns(j), int(j == uploads[0]))
        for x, z in zip(prefetches, prefetches[1:] + prefetches[:1], strict=True):
            yield Arc(x, z, self._transfer_ns(x.layer), int(z == prefetches[0]))

    def _events(self, period_ns: int, times_ns: Mapping[object, int]) -> Iterator[CyclicEvent]:
        """Yield the events by time; at one moment deletions first, then by place, uploads last."""
        cycle = self.problem.cycle
        last = 4 * len(cycle)
        listed: list[tuple[int, int, CyclicEventKind, int]] = []
        for k, operation in enumerate(cycle):
            kind = CyclicEventKind.BACKWARD if operation.is_backward else CyclicEventKind.FORWARD
            listed.append((times_ns[k], 4 * k, kind, operation.layer))
        for i in self.uploads:
            starts_ns = (times_ns["C", i] - self._transfer_ns(i)) % max(period_ns, 1)
            listed.append((starts_ns, last, CyclicEventKind.UPLOAD, i))
        for x, at in self.prefetches.items():
            rank = 4 * at.operation + 2 + at.is_idle
            listed.append((times_ns[x], rank, CyclicEventKind.PREFETCH, x.layer))
            listed.append(self._deletion(x, period_ns, times_ns))
        for start_ns, _, kind, layer in sorted(listed, key=lambda item: item[:2]):
            yield CyclicEvent(kind, layer, start_ns)

    def _deletion(
        self, x: Prefetch, period_ns: int, times_ns: Mapping[object, int]
    ) -> tuple[int, int, CyclicEventKind, int]:
        i = x.layer
        ended_ns = times_ns["C", i]
        if x.gap == 0:
            return ended_ns, -1, CyclicEventKind.DELETE, i
        k = self.problem.cycle.forward_index(i)
        used_ns = times_ns[k] + self.problem.cycle.operations[k].duration_ns
        if self._frame.is_wrapped(i, self.uploads[i]) or ended_ns > used_ns:
            return ended_ns, -1, CyclicEventKind.DELETE, i
        return used_ns, 4 * k + 1, CyclicEventKind.DELETE, i


def _of(prefetch: Prefetch) -> str:
    return f"{prefetch.layer}_{prefetch.gap}"
