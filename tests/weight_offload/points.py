"""Schedules of weight offloading as points of the paper's MILP, by counting bytes on a clock."""

from __future__ import annotations

from dataclasses import dataclass

from jettison import WeightOffload
from jettison.formulations.weight_offload.scale import WeightOffloadScale
from jettison.weight_offload import CyclicEvent, CyclicEventKind, CyclicSchedule

# The first periods warm up; what is read starts in period 2 and reaches into the next ones.
PERIODS, READ = 6, 2


@dataclass(frozen=True)
class Occurrence:
    """An event in the unrolled schedule."""

    place: int
    period: int
    start_ns: int
    event: CyclicEvent


class Unrolled:
    """Several periods of a valid schedule, and one layer's part of them without what is needless.

    Parameters
    ----------
    problem, schedule
        A schedule that is valid for the problem.
    """

    def __init__(self, problem: WeightOffload, schedule: CyclicSchedule) -> None:
        self.problem = problem
        self.scale = WeightOffloadScale.of(problem)
        count = len(schedule.events)
        self.all = [
            Occurrence(
                period * count + place, period, period * schedule.period_ns + event.start_ns, event
            )
            for period in range(PERIODS)
            for place, event in enumerate(schedule.events)
        ]
        starts = [item for item in self.all if item.event.kind.is_computation]
        self.size = len(problem.cycle)
        # Number of the operation in the unrolled schedule: period * size + index.
        self.operations = starts
        self.first = READ * self.size

    def of_layer(
        self, layer: int, kind: CyclicEventKind, after: Occurrence, before: Occurrence
    ) -> list[Occurrence]:
        return [
            item
            for item in self.all[after.place + 1 : before.place]
            if item.event.layer == layer and item.event.kind is kind
        ]

    def part_before(self, layer: int, transfer: Occurrence, now_ns: int) -> float:
        """Return what a transfer has moved by a moment, in the units of the model."""
        size_bytes = self.problem.cycle.weight_bytes[layer - 1]
        lasts_ns = self.problem.link.transfer_ns(size_bytes)
        part = min(1.0, max(0.0, (now_ns - transfer.start_ns) / lasts_ns))
        return part * self.scale.weights[layer - 1]

    def point(self) -> dict[str, float]:
        """Return the values of all columns by name."""
        values: dict[str, float] = {}
        unit = self.scale.memory.unit * self.scale.memory.factor
        for k, operation in enumerate(self.problem.cycle):
            here, after = self.operations[self.first + k], self.operations[self.first + k + 1]
            idle_ns = after.start_ns - here.start_ns - operation.duration_ns
            values[f"idle_{k}"] = float(idle_ns * self.problem.link.bytes_per_ns / unit)
        for layer, weight in enumerate(self.scale.weights, start=1):
            if weight:
                values |= self._layer(layer, weight)
        return values

    def _layer(self, layer: int, weight: float) -> dict[str, float]:
        cycle = self.problem.cycle
        b, f = cycle.backward_index(layer), cycle.forward_index(layer)
        begin, middle = self.operations[self.first + b], self.operations[self.first + f]
        end = self.operations[self.first + b + self.size]
        values: dict[str, float] = {}
        uploads = self.of_layer(layer, CyclicEventKind.UPLOAD, begin, end)[:1]
        gone = []
        for word, since, until in (("gone0", begin, middle), ("gone1", middle, end)):
            deletions = self.of_layer(layer, CyclicEventKind.DELETE, since, until)[:1]
            prefetches = self.of_layer(layer, CyclicEventKind.PREFETCH, since, until)[-1:]
            assert len(deletions) == len(prefetches)
            values[f"{word}_{layer}"] = len(deletions)
            gone.append((since, deletions, prefetches))
        if not any(deletions for _, deletions, _ in gone):
            uploads = []
        values[f"upload_{layer}"] = len(uploads)
        for step in range(self.size):
            k = (b + step) % self.size
            here = self.operations[self.first + b + step]
            after = self.operations[self.first + b + step + 1]
            sent = [
                sum(self.part_before(layer, item, moment.start_ns) for item in uploads)
                for moment in (here, after)
            ]
            back = deleted = missing = so_far = 0.0
            for since, deletions, prefetches in gone:
                for item in prefetches:
                    arrived = [
                        self.part_before(layer, item, moment.start_ns) for moment in (here, after)
                    ]
                    back += arrived[1] - arrived[0]
                    missing -= arrived[0]
                for item in deletions:
                    if here.place < item.place < after.place:
                        deleted += weight
                    if item.place < here.place:
                        missing += weight
                        is_current = since is (begin if here.place <= middle.place else middle)
                        so_far += weight if is_current and here is not since else 0.0
            values |= {
                f"O_{layer}_{k}": sent[1] - sent[0],
                f"o_{layer}_{k}": sent[0],
                f"P_{layer}_{k}": back,
                f"D_{layer}_{k}": deleted,
                f"m_{layer}_{k}": weight - missing,
                f"d_{layer}_{k}": so_far if k not in {b, f} else 0.0,
            }
        return values
