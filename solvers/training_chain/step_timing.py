"""Timing of a step: everything starts as soon as it can, period after period until one repeats.

Operations of the device keep their order. Each direction of the link carries one tensor after the
other: to the host in the order in which they may leave, from the host by ascending trigger
(`StepLayout`). A prefetch starts when its trigger is the next operation, its copy on the host is
complete and its memory is free; an operation when what it reads is there and its memory is free.
Of the next operation and the next prefetch, the one that can start earlier does, a prefetch on
ties. Where both directions share the link, each is given the rate that it always has.

There is no deadlock: when all that leaves has left, an operation fits beside every prefetch whose
trigger it has passed. Steps are timed until one takes as long as the one before it and all of its
parts start as long after its beginning; that step is the period of the schedule.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.training_chain.step_layout import StepLayout

# Tensor named by an event: its kind, its stage, the tensor.
_Named = tuple[TrainingEventKind, int, StageTensor | None]
_MOST_STEPS = 12


@dataclass(frozen=True, slots=True)
class TimedStep:
    """Timed step: its period, and its events by start time from its beginning."""

    period_ns: int
    events: tuple[tuple[int, _Named], ...]

    @property
    def schedule(self) -> TrainingSchedule:
        """The schedule that repeats it."""
        events = (
            TrainingEvent(kind, stage, start_ns, tensor)
            for start_ns, (kind, stage, tensor) in self.events
        )
        return TrainingSchedule(self.period_ns, tuple(events))


def timed_step(problem: TrainingChain, layout: StepLayout) -> TimedStep | None:
    """Time a step; None where it does not fit, or no two steps in a row are equal."""
    return _Timing(problem, layout).run() if layout.fits else None


class _Timing:
    def __init__(self, problem: TrainingChain, layout: StepLayout) -> None:
        self._layout = layout
        self._chain = problem.instance
        self._limit_bytes = problem.memory_bytes
        link = problem.link.always_available if problem.link.is_shared else problem.link
        self._transfer_ns = [link.transfer_ns(held.size_bytes) for held in layout.helds]
        self._used_bytes = layout.used_bytes
        # What happens by itself: time, number, bytes that become free, event.
        self._coming: list[tuple[int, int, int, _Named | None]] = []
        self._events: list[tuple[int, _Named]] = []
        self._numbered = self._now_ns = 0
        self._device_ns = self._to_host_ns = self._from_host_ns = self._host_ns = 0
        # By tensor: when its copy on the host is complete, and when it has left memory.
        self._copied_ns = [0] * len(layout.helds)
        self._gone_ns = [0] * len(layout.helds)
        self._weights = {
            held.stage: number
            for number, held in enumerate(layout.helds)
            if held.name is StageTensor.WEIGHTS
        }
        # By step: starts of operations, of prefetches for it and of what it sends.
        self._starts: list[list[int]] = [[] for _ in range(_MOST_STEPS + 2)]
        # Starts of all operations, and by step the number of events before it.
        self._begins: list[int] = []
        self._marks: list[int] = []

    def run(self) -> TimedStep | None:
        """Time steps until two in a row are equal."""
        layout, count = self._layout, len(self._layout.operations)
        fetches = layout.fetches
        # The prefetches that the first step begins with are there.
        there = sum(fetch.trigger < 0 for fetch in fetches)
        arrivals = [[0] * there + [-1] * (len(fetches) - there)]
        arrivals += [[-1] * len(fetches) for _ in range(_MOST_STEPS + 1)]
        waiting = [
            (fetch.trigger + step * count, step, number)
            for step in range(_MOST_STEPS + 2)
            for number, fetch in enumerate(fetches)
            if step or number >= there
        ]
        waiting.sort()
        next_fetch, position = 0, 0
        while True:
            step, own = divmod(position, count)
            operation = layout.operations[own]
            at_ns = self._ready(operation.fetches, operation.waits, arrivals[step])
            if at_ns is not None:
                at_ns = self._when_free(at_ns, operation.takes_bytes)
            trigger, of_step, number = waiting[next_fetch] if waiting else (position + 1, 0, 0)
            if trigger <= position:
                fetch_ns = self._fetch_from(fetches[number].held, trigger)
                if fetch_ns is not None and (at_ns is None or fetch_ns <= at_ns):
                    next_fetch += 1
                    arrivals[of_step][number] = self._fetch(fetch_ns, fetches[number].held)
                    self._starts[of_step].append(fetch_ns)
                    continue
            if at_ns is None:
                return None
            self._pass(at_ns)
            if not own:
                self._marks.append(len(self._events))
                found = self._repeated(step, at_ns)
                if found is not None or step == _MOST_STEPS:
                    return found
            self._begins.append(at_ns)
            self._starts[step].append(at_ns)
            self._run_operation(at_ns, own, step)
            position += 1

    def _fetch_from(self, number: int, trigger: int) -> int | None:
        """Return when a prefetch can start, if that is known."""
        since_ns = self._begins[trigger - 1] if trigger > 0 else 0
        since_ns = max(since_ns, self._from_host_ns, self._copied_ns[number])
        since_ns = max(since_ns, self._gone_ns[number], self._now_ns)
        return self._when_free(since_ns, self._layout.helds[number].size_bytes)

    def _ready(self, fetched: list[int], waits: list[int], arrivals: list[int]) -> int | None:
        """Return when all that an operation reads is there, if that is known."""
        ready_ns = max(self._device_ns, self._now_ns)
        for number in fetched:
            if arrivals[number] < 0:
                return None
            ready_ns = max(ready_ns, arrivals[number])
        for number in waits:
            ready_ns = max(ready_ns, self._copied_ns[number])
        return ready_ns

    def _when_free(self, since_ns: int, size_bytes: int) -> int | None:
        """Return the earliest time from which so much memory is free, if one is known."""
        over = self._used_bytes + size_bytes - self._limit_bytes
        when_ns = since_ns
        for time_ns, _, freed, _ in self._coming:
            if time_ns > since_ns:
                if over <= 0:
                    break
                when_ns = time_ns
            over -= freed
        return when_ns if over <= 0 else None

    def _pass(self, now_ns: int) -> None:
        """Let everything happen that happens by itself until now."""
        coming = self._coming
        self._now_ns = now_ns
        passed = 0
        for time_ns, _, freed, event in coming:
            if time_ns > now_ns:
                break
            passed += 1
            self._used_bytes -= freed
            if event is not None:
                self._events.append((time_ns, event))
        del coming[:passed]

    def _come(self, time_ns: int, freed: int, event: _Named | None) -> None:
        self._numbered += 1
        # The numbers differ, so that nothing behind them is compared.
        insort(self._coming, (time_ns, self._numbered, freed, event))

    def _fetch(self, now_ns: int, number: int) -> int:
        self._pass(now_ns)
        held = self._layout.helds[number]
        self._used_bytes += held.size_bytes
        if held.size_bytes:
            self._events.append((now_ns, (TrainingEventKind.PREFETCH, held.stage, held.name)))
            self._from_host_ns = now_ns + self._transfer_ns[number]
        return now_ns + self._transfer_ns[number]

    def _run_operation(self, now_ns: int, own: int, step: int) -> None:
        operation, helds = self._layout.operations[own], self._layout.helds
        self._events.append((now_ns, (operation.kind, operation.stage, None)))
        self._used_bytes += operation.takes_bytes
        end_ns = self._device_ns = now_ns + operation.duration_ns
        self._come(end_ns, operation.takes_bytes - operation.leaves_bytes, None)
        for number in operation.sends:
            self._send(end_ns, number, step)
        for number in operation.frees:
            held = helds[number]
            is_last = held.name.is_activation and own == held.uses[-1]
            time_ns = end_ns if is_last else max(end_ns, self._left_from(number))
            self._gone_ns[number] = time_ns
            is_silent = (held.ends_by_itself and own == held.uses[-1]) or not held.size_bytes
            if held.name is StageTensor.GRADIENT:
                is_silent = True
            drop = None if is_silent else (TrainingEventKind.DROP, held.stage, held.name)
            self._come(time_ns, held.size_bytes, drop)

    def _left_from(self, number: int) -> int:
        """Return when the host has a copy of what leaves, or needs none any more."""
        held = self._layout.helds[number]
        is_old = held.stage in self._layout.stages_by_host or held.name is StageTensor.GRADIENT
        if is_old and not held.name.is_activation:
            return 0
        return self._copied_ns[number]

    def _send(self, end_ns: int, number: int, step: int) -> None:
        held = self._layout.helds[number]
        done_ns = end_ns
        if held.size_bytes:
            start_ns = max(self._to_host_ns, end_ns)
            done_ns = self._to_host_ns = start_ns + self._transfer_ns[number]
            self._come(start_ns, 0, (TrainingEventKind.OFFLOAD, held.stage, held.name))
            self._starts[step].append(start_ns)
        self._copied_ns[number] = done_ns
        if number in self._layout.by_host:
            drop = (TrainingEventKind.DROP, held.stage, held.name) if held.size_bytes else None
            self._come(done_ns, held.size_bytes, drop)
            start_ns = max(self._host_ns, done_ns)
            self._host_ns = start_ns + (self._chain.stage(held.stage).host_update_ns or 0)
            self._come(start_ns, 0, (TrainingEventKind.HOST_UPDATE, held.stage, None))
            self._starts[step].append(start_ns)
            # The host has had the only copy of the weights that counts since the backward
            # operation.
            self._copied_ns[self._weights[held.stage]] = self._host_ns

    def _repeated(self, step: int, now_ns: int) -> TimedStep | None:
        """Return the step that ends now if it is like the one before."""
        if step < 2:
            return None
        count = len(self._layout.operations)
        last_ns, before_ns = (self._begins[place * count] for place in (step - 1, step - 2))
        period_ns = now_ns - last_ns
        last = sorted(time_ns - last_ns for time_ns in self._starts[step - 1])
        before = sorted(time_ns - before_ns for time_ns in self._starts[step - 2])
        if period_ns != last_ns - before_ns or last != before:
            return None
        own = self._events[self._marks[step - 1] : self._marks[step]]
        return TimedStep(period_ns, tuple((time_ns - last_ns, event) for time_ns, event in own))
