"""Improvement of a cyclic step: cut it, find the shortest step with that state, cut elsewhere.

A schedule is cut right before one of its operations starts. A sweep from the state there searches
for a shorter schedule with the same state; the result is then cut elsewhere, until no cut gives a
shorter one. This proves nothing: a better schedule may have another state at every cut, and of
labels with the same operations started and the same weights resident only the first few are
followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.weight_offload.exact.beginnings import Beginning, CutCycle
from jettison.solvers.weight_offload.exact.state_sweep import SweepParams, seek_step


@dataclass(frozen=True, kw_only=True)
class RecutParams(SweepParams):
    """Parameters of the improvement by cuts: the limits of each of its sweeps.

    Attributes
    ----------
    most_labels_of_cut
        Labels of a sweep, at most.
    most_rounds_of_cut
        Rounds in which a sweep is repeated with more time left of the transfers, at most.
    most_alike_of_cut
        Labels with the same operations started and the same weights resident that are followed, at
        most.
    parts_of_period
        A period is sought that is shorter by one of so many parts, or by more.
    """

    most_labels_of_cut: int = 400_000
    most_rounds_of_cut: int = 10
    most_alike_of_cut: int = 6
    parts_of_period: int = 1_000


RECUT = RecutParams()


class _Contents:
    """State of weights and transfers while a schedule is followed."""

    def __init__(self, cut: CutCycle) -> None:
        self._cut = cut
        self.resident = (1 << len(cut.moving)) - 1
        self.hosted = self.owed = 0
        # The transfer in each direction: the place of its layer, and its end.
        self._up = self._down = (_kernels.IDLE_LINK, -1)

    def leave_absent(self, layer: int) -> None:
        """Begin with the weights of this layer absent."""
        self.resident &= ~(1 << self._cut.place_of[layer])

    def end_until(self, now_ns: int) -> None:
        """End the transfers that last until now."""
        place, end_ns = self._up
        if place != _kernels.IDLE_LINK and end_ns <= now_ns:
            self.hosted |= 1 << place
            self.owed |= 1 << place
            self._up = (_kernels.IDLE_LINK, -1)
        if self._down[1] <= now_ns:
            self._down = (_kernels.IDLE_LINK, -1)

    def start(self, event: CyclicEvent, now_ns: int) -> None:
        """Account for the start of an event of a moving layer."""
        problem = self._cut.problem
        place = self._cut.place_of[event.layer]
        bit = 1 << place
        size_bytes = problem.cycle.weight_bytes[event.layer - 1]
        end_ns = now_ns + problem.link.transfer_ns(size_bytes)
        if event.kind is CyclicEventKind.BACKWARD:
            self.hosted &= ~bit
        elif event.kind is CyclicEventKind.UPLOAD:
            self._up = (place, end_ns)
        elif event.kind is CyclicEventKind.PREFETCH:
            self.resident |= bit
            self._down = (place, end_ns)
        elif event.kind is CyclicEventKind.DELETE:
            self.resident &= ~bit
            self.owed &= ~bit

    def beginning(self) -> Beginning:
        """Return the present state as a `Beginning` at the cut."""
        return Beginning(
            self.resident,
            self.hosted,
            self.owed & self.resident & self._cut.forward_next,
            self._up[0],
            self._down[0],
        )


def state_at(cut: CutCycle, schedule: CyclicSchedule) -> Beginning:
    """Return the state at the cut of a valid schedule whose transfers are as a sweep makes them."""
    contents = _Contents(cut)
    moved: set[int] = set()
    for event in schedule.events:
        is_moving = event.layer in cut.place_of
        if is_moving and event.kind in {CyclicEventKind.PREFETCH, CyclicEventKind.DELETE}:
            if event.layer not in moved and event.kind is CyclicEventKind.PREFETCH:
                contents.leave_absent(event.layer)
            moved.add(event.layer)
    first = cut.operations[0]
    kind = CyclicEventKind.BACKWARD if first.is_backward else CyclicEventKind.FORWARD
    # After two periods it is known which transfers straddle the end of a period.
    for period in range(3):
        for event in schedule.events:
            now_ns = period * schedule.period_ns + event.start_ns
            contents.end_until(now_ns)
            if period == 2 and event.kind is kind and event.layer == first.layer:
                return contents.beginning()
            if event.layer in cut.place_of:
                contents.start(event, now_ns)
    raise ValueError(f"{first} is not in the schedule")


def improve_by_cuts(
    problem: WeightOffload,
    schedule: CyclicSchedule,
    lower_ns: int,
    clock: Clock,
    found: Callable[[CyclicSchedule, int], None],
    params: RecutParams = RECUT,
) -> None:
    """Search for shorter schedules until no cut gives one or the clock has run out.

    Parameters
    ----------
    found
        Called after every sweep with the best schedule and the number of labels.
    params
        The limits of a sweep.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C is pressed.
    """
    places = len(problem.cycle)
    place, idle = 0, 0
    while idle < places and schedule.period_ns > lower_ns and clock.left_s > 0:
        cut = CutCycle(problem, place)
        beginning = state_at(cut, schedule)
        best_ns = schedule.period_ns
        reach_ns = (best_ns - lower_ns) // 2
        # Shorter by half of the gap, by a quarter and so on, down to a part of the period.
        while clock.left_s > 0:
            sweep = seek_step(
                cut,
                [beginning],
                schedule.period_ns - max(reach_ns, 1),
                clock,
                most_labels=params.most_labels_of_cut,
                most_rounds=params.most_rounds_of_cut,
                most_alike=params.most_alike_of_cut,
                params=params,
            )
            schedule = sweep.schedule or schedule
            found(schedule, sweep.labels)
            if sweep.schedule is None and reach_ns <= max(1, best_ns // params.parts_of_period):
                break
            if schedule.period_ns <= lower_ns:
                break
            reach_ns = min(reach_ns // 2, (schedule.period_ns - lower_ns) // 2)
        idle = 0 if schedule.period_ns < best_ns else idle + 1
        # A stride of an odd number near half of the cycle reaches all cuts, distant ones first.
        place = (place + _stride(places)) % places


def _stride(places: int) -> int:
    half = places // 2
    return half + 1 if half % 2 == 0 else half + 2 if places > half + 2 else 1
