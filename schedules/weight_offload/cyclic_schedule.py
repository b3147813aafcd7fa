"""Cyclic schedules: timed schedules of a step that repeats."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.weight_offload.cycle import WeightCycle
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent
from jettison.schedules.weight_offload.cyclic_replay import CyclicReplay

_LATEST_NS = 2**62


@dataclass(frozen=True, slots=True)
class CyclicSchedule:
    r"""Cyclic schedule: one period of a step that repeats for ever.

    What starts at :math:`t` starts again at :math:`t + T, t + 2 T, \dots`. A transfer may still be
    under way when the period ends. At any one time, whatever ends there ends first; then events
    start in the order of `events`, and one that takes no time also ends in that order.

    Attributes
    ----------
    period_ns
        The time :math:`T` of one step.
    events
        By start time, each from 0 to `period_ns`.

    Raises
    ------
    InputError
        If something is no event, a time is out of range, or the times descend.
    """

    kind = "cyclic-schedule"

    period_ns: int
    events: tuple[CyclicEvent, ...]

    def __repr__(self) -> str:
        return short_repr(self, "events", self.events)

    def __post_init__(self) -> None:
        checked = checked_operations(self.events, (CyclicEvent,), field="events")
        object.__setattr__(self, "events", checked)
        if not 0 <= self.period_ns <= _LATEST_NS:
            raise InputError(
                f"{self.period_ns} ns", field="period_ns", expected="write a time of at least 0"
            )
        earliest_ns = 0
        for position, event in enumerate(self.events):
            if not earliest_ns <= event.start_ns <= self.period_ns:
                raise InputError(
                    f"{event.start_ns} ns for {event}",
                    field=f"events[{position}]",
                    expected=f"list events by start time: from {earliest_ns} to {self.period_ns}",
                )
            earliest_ns = event.start_ns

    def replay(self, cycle: WeightCycle, link: Link, memory_bytes: int | None = None) -> Replay:
        r"""Execute three periods in exact integers and name every broken rule.

        Parameters
        ----------
        cycle
            The operations of the instance.
        link
            The link to the host.
        memory_bytes
            The limit; None to measure only.

        Notes
        -----
        Time :math:`O(n \log n)` for n events.
        """
        return CyclicReplay(cycle, link, memory_bytes).run(self.period_ns, self.events)
