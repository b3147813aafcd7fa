"""Timing of a step: everything starts as soon as it can, period after period until one repeats.

Operations of the device keep their order. Each direction of the link carries one tensor after the
other: to the host what came first of all that waits, or what is needed first again, as the plan
says; from the host by ascending trigger (`StepLayout`). The host takes updates in the same way. A
prefetch starts when its trigger is the next operation, its copy on the host is
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
from jettison.solvers.training_chain.stage_choices import JointPlan
from jettison.solvers.training_chain.step_order import StepOrder
from tests.training_chain.oracles.step_layout import Fetch, StepLayout

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


def slowly_timed_step(
    problem: TrainingChain, order: StepOrder, plan: JointPlan
) -> TimedStep | None:
    """Time a step; None where it does not fit, or no two steps in a row are equal."""
    layout = StepLayout(problem, order, plan.stages, plan.weights_ahead, plan.activations_ahead)
    return _Timing(problem, layout, plan).run() if layout.fits else None


class _Timing:
    def __init__(self, problem: TrainingChain, layout: StepLayout, plan: JointPlan) -> None:
        self._plan = plan
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
        # None while that is not known.
        self._copied_ns: list[int | None] = [0] * len(layout.helds)
        self._gone_ns: list[int | None] = [0] * len(layout.helds)
        # Tensors that only wait for their copies, with the time since when.
        self._leaving_ns: dict[int, int] = {}
        # What waits for the link, and for the host: since when, needed at, tensor.
        self._to_send: list[tuple[int, int, int]] = []
        self._to_update: list[tuple[int, int, int]] = []
        self._weights = {
            held.stage: number
            for number, held in enumerate(layout.helds)
            if held.name is StageTensor.WEIGHTS
        }
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
        triggered: list[tuple[int, int, int]] = []
        while True:
            step, own = divmod(position, count)
            operation = layout.operations[own]
            at_ns = self._ready(operation.fetches, operation.waits, arrivals[step])
            if at_ns is not None:
                at_ns = self._when_free(at_ns, operation.takes_bytes)
            while waiting and waiting[next_fetch][0] <= position:
                triggered.append(waiting[next_fetch])
                next_fetch += 1
            fetch_ns, chosen = None, self._next_to_fetch(triggered, fetches)
            if chosen is not None:
                there_ns, (_, of_step, number) = chosen
                size = layout.helds[fetches[number].held].size_bytes
                fetch_ns = self._when_free(there_ns, size)
            starts = [start_ns for start_ns in (fetch_ns, at_ns) if start_ns is not None]
            first_ns = min(starts, default=None)
            if self._decide(first_ns):
                continue
            if chosen is not None and fetch_ns is not None and fetch_ns == first_ns:
                triggered.remove(chosen[1])
                arrivals[of_step][number] = self._fetch(fetch_ns, fetches[number].held)
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
            self._run_operation(at_ns, own, step)
            position += 1

    def _next_to_fetch(
        self, triggered: list[tuple[int, int, int]], fetches: list[Fetch]
    ) -> tuple[int, tuple[int, int, int]] | None:
        """Return the prefetch that is next, and from when on it could start with free memory."""
        considered = triggered if self._plan.fetches_what_is_there else triggered[:1]
        found = []
        for item in considered:
            trigger, _, number = item
            copied_ns = self._copied_ns[fetches[number].held]
            gone_ns = self._gone_ns[fetches[number].held]
            if copied_ns is None or gone_ns is None:
                continue
            since_ns = self._begins[trigger - 1] if trigger > 0 else 0
            there_ns = max(since_ns, self._from_host_ns, copied_ns, gone_ns, self._now_ns)
            found.append((there_ns, item))
        return min(found, key=lambda pair: pair[0], default=None)

    def _ready(self, fetched: list[int], waits: list[int], arrivals: list[int]) -> int | None:
        """Return when all that an operation reads is there, if that is known."""
        ready_ns = max(self._device_ns, self._now_ns)
        for number in fetched:
            if arrivals[number] < 0:
                return None
            ready_ns = max(ready_ns, arrivals[number])
        for number in waits:
            copied_ns = self._copied_ns[number]
            if copied_ns is None:
                return None
            ready_ns = max(ready_ns, copied_ns)
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
            self._send(end_ns, number, step, own)
        for number in operation.frees:
            held = helds[number]
            is_last = held.name.is_activation and own == held.uses[-1]
            is_silent = (held.ends_by_itself and own == held.uses[-1]) or not held.size_bytes
            is_silent = is_silent or held.name is StageTensor.GRADIENT
            copied_ns = self._copied_ns[number]
            if is_last or not self._needs_copy(number):
                self._leave(end_ns, number, is_silent)
            elif copied_ns is None:
                self._gone_ns[number] = None
                self._leaving_ns[number] = end_ns
            else:
                self._leave(max(end_ns, copied_ns), number, is_silent)

    def _leave(self, time_ns: int, number: int, is_silent: bool) -> None:
        held = self._layout.helds[number]
        self._gone_ns[number] = time_ns
        drop = None if is_silent else (TrainingEventKind.DROP, held.stage, held.name)
        self._come(time_ns, held.size_bytes, drop)

    def _needs_copy(self, number: int) -> bool:
        """Tell whether what leaves has to be complete on the host."""
        held = self._layout.helds[number]
        is_old = held.stage in self._layout.stages_by_host or held.name is StageTensor.GRADIENT
        return held.name.is_activation or not is_old

    def _send(self, end_ns: int, number: int, step: int, own: int) -> None:
        held, count = self._layout.helds[number], len(self._layout.operations)
        needs = [fetch.need for fetch in self._layout.fetches if fetch.held == number]
        if held.name is StageTensor.GRADIENT:
            needs = [min(self._layout.helds[self._weights[held.stage]].uses)]
        # All of a gradient's needs are in the next step; a fetch at its own operation as well.
        is_later = held.name is StageTensor.GRADIENT
        in_steps = [need + count * (is_later or need <= own) for need in needs]
        need = step * count + min([*in_steps, own + count] if not is_later else in_steps)
        if number in self._layout.by_host:
            self._copied_ns[self._weights[held.stage]] = None
        if held.size_bytes:
            self._copied_ns[number] = None
            self._to_send.append((end_ns, need, number))
        else:
            self._arrive(end_ns, number, need)

    def _arrive(self, done_ns: int, number: int, need: int) -> None:
        held = self._layout.helds[number]
        self._copied_ns[number] = done_ns
        if number in self._leaving_ns:
            since_ns = self._leaving_ns.pop(number)
            self._leave(max(since_ns, done_ns), number, not held.size_bytes)
        if number in self._layout.by_host:
            drop = (TrainingEventKind.DROP, held.stage, held.name) if held.size_bytes else None
            self._come(done_ns, held.size_bytes, drop)
            self._to_update.append((done_ns, need, number))

    def _decide(self, before_ns: int | None) -> bool:
        """Start the next transfer to the host or update there, unless something starts before."""
        found: list[tuple[int, int]] = []
        queues = (
            (self._to_send, self._to_host_ns, self._plan.sends_by_need),
            (self._to_update, self._host_ns, self._plan.updates_by_need),
        )
        for which, (queue, since_ns, _) in enumerate(queues):
            if queue:
                found.append((max(since_ns, min(ready_ns for ready_ns, _, _ in queue)), which))
        if not found or (before_ns is not None and min(found)[0] > before_ns):
            return False
        start_ns, which = min(found)
        queue, _, by_need = queues[which]
        there = [item for item in queue if item[0] <= start_ns]
        item = min(there, key=lambda item: item[1]) if by_need else there[0]
        queue.remove(item)
        _, need, number = item
        held = self._layout.helds[number]
        if which:
            self._come(start_ns, 0, (TrainingEventKind.HOST_UPDATE, held.stage, None))
            self._host_ns = start_ns + (self._chain.stage(held.stage).host_update_ns or 0)
            # The host has had the only copy of the weights that counts since the backward
            # operation.
            self._copied_ns[self._weights[held.stage]] = self._host_ns
        else:
            self._come(start_ns, 0, (TrainingEventKind.OFFLOAD, held.stage, held.name))
            self._to_host_ns = start_ns + self._transfer_ns[number]
            self._arrive(self._to_host_ns, number, need)
        return True

    def _repeated(self, step: int, now_ns: int) -> TimedStep | None:
        """Return the step that ends now if it is like the one before."""
        if step < 2:
            return None
        count = len(self._layout.operations)
        last_ns, before_ns = (self._begins[place * count] for place in (step - 1, step - 2))
        period_ns = now_ns - last_ns
        before, last = (
            [
                (time_ns - self._begins[place * count], event)
                for time_ns, event in self._events[self._marks[place] : self._marks[place + 1]]
            ]
            for place in (step - 2, step - 1)
        )
        if period_ns != last_ns - before_ns or last != before:
            return None
        return TimedStep(period_ns, tuple(last))
