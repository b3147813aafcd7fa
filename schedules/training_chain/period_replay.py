"""Replay of a training schedule: three periods in exact integers."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule, Step, Transfer
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.shared_link import SharedLink
from jettison.schedules.training_chain.computations import Computations
from jettison.schedules.training_chain.event import TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.first_state import first_state
from jettison.schedules.training_chain.memory_account import MemoryAccount
from jettison.schedules.training_chain.moves import Moves
from jettison.schedules.training_chain.training_state import Running, TrainingState
from jettison.schedules.training_chain.training_verdict import TrainingVerdict

# One to warm up; what starts in the second is shown, and the third ends what that leaves under way.
_PERIODS = 3
_SHOWN = 1

_DEVICE, _HOST = "the device", "the host's processor"
_TO_HOST, _FROM_HOST = "the link to the host", "the link from the host"


class TrainingReplay:
    r"""Replay of three periods of a training schedule in exact integers.

    The first period is a warm-up, which starts with what the first event of each tensor implies.
    The other two are judged. If a period ends in the state in which it began, all later ones repeat
    it. The rules:

    - forward, backward and update operations run one after the other on the device, and updates of
      the host one after the other on the host; each while what it reads is ready;
    - :math:`F_\ell` reads :math:`a^{\ell-1}`, by itself or in :math:`\bar a^{\ell-1}`, and the
      weights of its stage; :math:`B_\ell` reads these, :math:`\bar a^\ell` and
      :math:`\delta^\ell`, and runs once, in the order :math:`N, \dots, 1`. After :math:`B_\ell` no
      :math:`F_\ell` runs in the same step, and after :math:`B_1` nothing of the step is left but
      gradients of weights;
    - each trained stage is updated once per step, after its backward operation and before the next
      operation that reads its weights: on the device, where weights, states and gradient are ready
      and none of them moves, or on the host, which has the gradient then, and always the states;
    - an output and an overhead take memory from the start of their operation, inputs to its end.
      :math:`\bar a^\ell`, :math:`\delta^\ell` and :math:`a^{\ell-1}` by itself are gone after
      :math:`B_\ell`, a gradient of weights after the update;
    - each direction of the link carries one transfer at a time; :math:`x` bytes take
      :math:`\lceil x / \beta \rceil` nanoseconds, or longer where both directions share the link
      (`SharedLink`); a tensor is on the device from the start of its prefetch, can be read from the
      end, and stays there while it is offloaded. Changed weights of the host may take the place of
      those on the device from the end of the backward operation;
    - weights, states and gradients are dropped where the host has their newest version only;
      nothing is dropped while it is read, made or moved;
    - the sum of all never exceeds the limit. On the host, weights and states that ever move have a
      place for ever, other tensors from the start of their offload to their end.

    A broken rule is recorded, and the replay goes on as if it were kept.

    Parameters
    ----------
    chain
        The instance.
    link
        The link to the host.
    memory_bytes, host_memory_bytes
        The limits; None to measure only.
    """

    def __init__(
        self,
        chain: Chain,
        link: Link,
        memory_bytes: int | None,
        host_memory_bytes: int | None,
    ) -> None:
        self._chain = chain
        self._link = link
        self._shared = SharedLink(link) if link.is_shared else None
        # Where one direction slows down the other: the transfer of each, with its place in the
        # record.
        self._on_link: dict[bool, tuple[Running, int | None]] = {}
        self._limits = memory_bytes, host_memory_bytes
        self._under_way: list[tuple[int, int, Running]] = []
        self._started = 0
        self._free_ns = dict.fromkeys((_DEVICE, _HOST, _TO_HOST, _FROM_HOST), 0)
        self._period_ns = self._period = self._now_ns = 0
        self._steps: list[Step] = []
        self._transfers: list[Transfer] = []

    def run(self, period_ns: int, events: Sequence[TrainingEvent]) -> TrainingVerdict:
        """Execute the events of a period, which are sorted by start time."""
        self._period_ns = period_ns
        known = [event for event in events if 1 <= event.stage <= len(self._chain)]
        stages = first_state(self._chain, known)
        self._memory = MemoryAccount(self._chain, stages, known)
        self._state = TrainingState(self._chain, stages, self._memory)
        self._computations = Computations(self._state)
        self._moves = Moves(self._state)
        for self._period in range(_PERIODS):
            self._state.is_judged = self._period >= _SHOWN
            before = [stage.state for stage in stages]
            self._now_ns = self._period * period_ns
            self._note_memory()
            for position, event in enumerate(events):
                self._end_what_lasts_until(self._period * period_ns + event.start_ns)
                self._state.at(position, str(event))
                if 1 <= event.stage <= len(self._chain):
                    self._start(event)
                else:
                    self._state.broken(Rule.UNKNOWN_OPERATION, f"stage {event.stage}")
            self._end_what_lasts_until((self._period + 1) * period_ns)
            self._end_period(before)
        self._expect_updates(known)
        return TrainingVerdict(
            steps=tuple(self._steps),
            peak_bytes=self._memory.peak_bytes,
            limit_bytes=self._limits[0],
            violations=self._state.findings.violations,
            schedule_class=ScheduleClass.ALL,
            transfers=tuple(self._transfers),
            period_ns=period_ns,
            memory_profile=self._memory.profile,
            host_peak_bytes=self._memory.host_peak_bytes,
            kinds_profile=self._memory.kinds_profile,
        )

    def _end_period(self, before: Sequence[tuple[object, ...]]) -> None:
        state = self._state
        running = [item.event for _, _, item in self._under_way]
        for event in running:
            if event.kind.is_computation and not event.kind.is_update:
                state.broken_at_end(Rule.UNFINISHED, f"{event} crosses the end of the period")
        if state.next_backward not in {0, len(self._chain)} or state.forwards:
            state.broken_at_end(Rule.UNFINISHED, f"B {state.next_backward} is missing")
            state.end_step()
        stages = zip(state.stages, before, strict=True)
        for number, (stage, was) in enumerate(stages, start=1):
            if stage.state != was:
                state.broken_at_end(Rule.NOT_PERIODIC, f"stage {number}")

    def _expect_updates(self, events: Sequence[TrainingEvent]) -> None:
        """Expect one backward operation of each stage, and one update of those with weights."""
        texts = [str(event) for event in events]
        for number, stage in enumerate(self._chain, start=1):
            backwards = texts.count(f"B {number}")
            updates = texts.count(f"U {number}") + texts.count(f"H {number}")
            for name, count, expected in (
                (f"B {number}", backwards, 1),
                (f"U {number}", updates, int(stage.is_trained)),
            ):
                if count < expected:
                    self._state.broken_at_end(Rule.UNFINISHED, f"{name} is missing")
                elif count > expected:
                    self._state.broken_at_end(Rule.COMPUTED_TWICE, name)

    def _start(self, event: TrainingEvent) -> None:
        if event.kind is TrainingEventKind.DROP:
            self._moves.drop(event)
            self._note_memory()
            return
        if event.kind.is_transfer:
            self._start_transfer(event)
            return
        running, duration_ns = self._computations.start(event)
        running.period = self._period
        self._occupy(_HOST if event.kind is TrainingEventKind.HOST_UPDATE else _DEVICE, duration_ns)
        self._note_memory()
        self._expect_room(str(event))
        self._put_under_way(running, duration_ns)

    def _start_transfer(self, event: TrainingEvent) -> None:
        size_bytes = self._moves.start_transfer(event)
        to_host = event.kind is TrainingEventKind.OFFLOAD
        duration_ns = self._link.transfer_ns(size_bytes)
        lane = _TO_HOST if to_host else _FROM_HOST
        self._occupy(lane, duration_ns)
        self._note_memory()
        self._expect_room(f"{event.tensor} {event.stage}")
        place = None
        if self._period == _SHOWN:
            place = len(self._transfers)
            end_ns = event.start_ns + duration_ns
            self._transfers.append(
                Transfer(str(event), event.start_ns, end_ns, size_bytes, to_host)
            )
        running = Running(event, self._period)
        if self._shared is None or not duration_ns:
            self._put_under_way(running, duration_ns)
        elif self._shared.is_free(to_host):
            self._shared.start(to_host, size_bytes, self._now_ns)
            self._on_link[to_host] = running, place
        else:
            # One that breaks the rule takes as long as alone, and slows down nothing.
            self._state.broken(Rule.BUSY, lane)
            self._put_under_way(running, duration_ns)

    def _put_under_way(self, running: Running, duration_ns: int) -> None:
        if duration_ns == 0:
            self._end(running)
            return
        self._started += 1
        heapq.heappush(self._under_way, (self._now_ns + duration_ns, self._started, running))

    def _end_what_lasts_until(self, now_ns: int) -> None:
        while True:
            next_ns = self._under_way[0][0] if self._under_way else now_ns + 1
            upcoming = None if self._shared is None else self._shared.next_end()
            if upcoming is not None and upcoming[0] <= min(next_ns, now_ns):
                self._now_ns, to_host = upcoming
                self._end_shared(to_host)
            elif next_ns <= now_ns:
                self._now_ns, _, running = heapq.heappop(self._under_way)
                self._end(running)
            else:
                break
        self._now_ns = now_ns

    def _end_shared(self, to_host: bool) -> None:
        assert self._shared is not None
        self._shared.end(to_host, self._now_ns)
        running, place = self._on_link.pop(to_host)
        if place is not None:
            end_ns = self._now_ns - _SHOWN * self._period_ns
            self._transfers[place] = replace(self._transfers[place], end_ns=end_ns)
        self._end(running)

    def _end(self, running: Running) -> None:
        event = running.event
        if event.kind.is_transfer:
            self._moves.end_transfer(event)
            self._note_memory()
            return
        start_ns = running.period * self._period_ns + event.start_ns
        during_bytes = self._memory.peak_since(start_ns)
        self._computations.end(running)
        self._note_memory()
        if running.period == _SHOWN:
            self._steps.append(
                Step(
                    operation=str(event),
                    start_ns=event.start_ns,
                    end_ns=self._now_ns - _SHOWN * self._period_ns,
                    during_bytes=during_bytes,
                    after_bytes=self._memory.device_bytes,
                    repeated=running.repeated,
                )
            )

    def _note_memory(self) -> None:
        shown_from_ns = _SHOWN * self._period_ns
        self._memory.note(
            self._now_ns,
            self._now_ns - shown_from_ns if self._period == _SHOWN else None,
            is_judged=self._state.is_judged,
        )

    def _expect_room(self, needed_by: str) -> None:
        """Note what is above the limits when something has started."""
        limit_bytes, host_limit_bytes = self._limits
        over = self._memory.device_bytes - (limit_bytes or 0)
        if limit_bytes is not None and over > 0:
            self._state.broken(Rule.OUT_OF_MEMORY, needed_by, over)
        over = self._memory.host_bytes - (host_limit_bytes or 0)
        if host_limit_bytes is not None and over > 0:
            self._state.broken(Rule.OUT_OF_MEMORY, f"{needed_by}, on the host", over)

    def _occupy(self, resource: str, duration_ns: int) -> None:
        if self._free_ns[resource] > self._now_ns:
            self._state.broken(Rule.BUSY, resource)
        self._free_ns[resource] = max(self._free_ns[resource], self._now_ns + duration_ns)
