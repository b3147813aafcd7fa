"""Training schedules: timed schedules of a step that repeats, with all that is in memory."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.training_chain.event import TrainingEvent
from jettison.schedules.training_chain.period_replay import TrainingReplay
from jettison.schedules.training_chain.training_verdict import TrainingVerdict

_LATEST_NS = 2**62


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    r"""Training schedule: one period of a step that repeats for ever.

    The period begins before the first forward operation of a step and ends after :math:`B_1`, so
    that forward and backward operations never cross its end. Updates and transfers of weights,
    gradients and states may: what starts at :math:`t` starts again at :math:`t + T`,
    :math:`t + 2 T` and so on. An update that stands before the backward operation of its stage
    belongs to the step before. At any one time, whatever ends there ends first; then events start
    in the order of `events`, and one that takes no time also ends in that order.

    Attributes
    ----------
    period_ns
        The time :math:`T` of one step.
    events
        By start time, each from 0 to `period_ns`.

    Raises
    ------
    InputError
        If something is no event, a tensor is missing or superfluous, a time is out of range, or the
        times descend.
    """

    kind = "training-schedule"

    period_ns: int
    events: tuple[TrainingEvent, ...]

    def __repr__(self) -> str:
        return short_repr(self, "events", self.events)

    def __post_init__(self) -> None:
        checked = checked_operations(self.events, (TrainingEvent,), field="events")
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
            if (event.tensor is None) is not event.kind.is_computation:
                raise InputError(
                    f"{event} names {event.tensor or 'no tensor'}",
                    field=f"events[{position}]",
                    expected="name a tensor where one moves or is dropped, and only there",
                )
            earliest_ns = event.start_ns

    def replay(
        self,
        chain: Chain,
        link: Link,
        memory_bytes: int | None = None,
        host_memory_bytes: int | None = None,
    ) -> TrainingVerdict:
        r"""Execute three periods in exact integers and name every broken rule.

        Parameters
        ----------
        chain
            The instance.
        link
            The link to the host.
        memory_bytes, host_memory_bytes
            The limits of the device and of the host; None to measure only.

        Notes
        -----
        Time :math:`O(n \log n)` for n events.
        """
        replay = TrainingReplay(chain, link, memory_bytes, host_memory_bytes)
        return replay.run(self.period_ns, self.events)
