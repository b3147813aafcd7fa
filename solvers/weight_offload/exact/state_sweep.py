"""Sweep that decides whether a step with offloaded weights fits in a given period."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params
from jettison.solvers.weight_offload.exact.beginnings import Beginning, CutCycle

_ALL = 2**62
# The kinds of `CycleStart` after the operations, in the order of the kernel.
_KINDS = (CyclicEventKind.PREFETCH, CyclicEventKind.UPLOAD, CyclicEventKind.DELETE)


@dataclass(frozen=True, kw_only=True)
class SweepParams(Params):
    """Parameters of a sweep over events.

    Attributes
    ----------
    beginnings_at_once
        Beginnings that one sweep starts from, at most; each label has a set of them, on which the
        bounds on what follows it depend.
    """

    beginnings_at_once: int = 256


SWEEP = SweepParams()


class SweepEnd(Enum):
    """Answer of a sweep, or the limit that ended it."""

    FOUND = "a step within the period"
    REFUTED = "there is none"
    LIMIT = "a limit of time or labels"
    ROUNDS = "too many rounds"
    STATES = "too many states at every cut"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Outcome of a sweep.

    Attributes
    ----------
    end
        How it ended.
    labels
        Number of labels that the kernel made.
    schedule
        A step within the period, if one was found.
    next_ns
        Lower bound on the period if there is no such step, else 0.
    """

    end: SweepEnd
    labels: int
    schedule: CyclicSchedule | None = None
    next_ns: int = 0


def seek_step(
    cut: CutCycle,
    beginnings: Sequence[Beginning],
    period_ns: int,
    clock: Clock,
    *,
    most_labels: int,
    most_rounds: int,
    most_alike: int = _ALL,
    params: SweepParams = SWEEP,
) -> Sweep:
    """Search for a step within `period_ns`; see `solvers.weight_offload.exact.method`.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C is pressed.
    """
    labels, next_ns = 0, 2**62
    front = list(beginnings)
    seen = set(front)
    for _ in range(most_rounds):
        found: set[Beginning] = set()
        for chunk in _chunks(front, params.beginnings_at_once):
            complete, closed_ns, actions, raised, least_ns, made = _kernels.sweep_weight_cycle(
                *cut.arrays,
                np.array([item.row for item in chunk], dtype=np.int64),
                period_ns,
                most_labels - labels,
                most_alike,
                None if math.isinf(clock.left_s) else max(clock.left_s, 1e-3),
            )
            labels += made
            if closed_ns is not None:
                return Sweep(SweepEnd.FOUND, labels, _schedule(cut, closed_ns, actions))
            if not complete or labels > most_labels:
                return Sweep(SweepEnd.LIMIT, labels)
            next_ns = min(next_ns, least_ns)
            found.update(chunk[number].raised(up_ns, down_ns) for number, up_ns, down_ns in raised)
        front = _least(found - seen)
        if not front:
            is_raised = len(seen) > len(beginnings)
            least_ns = period_ns + 1 if is_raised else next_ns
            return Sweep(SweepEnd.REFUTED, labels, next_ns=least_ns)
        seen.update(front)
    return Sweep(SweepEnd.ROUNDS, labels)


def _chunks(states: Sequence[Beginning], at_once: int) -> Iterator[Sequence[Beginning]]:
    """Split the beginnings into sweeps, small enough for the kernel's sets of beginnings."""
    for start in range(0, len(states), at_once):
        yield states[start : start + at_once]


def _least(states: Iterable[Beginning]) -> list[Beginning]:
    """Return the minimal states: a step that repeats from a larger state is found from these."""
    kept: list[Beginning] = []
    for state in sorted(states, key=lambda item: item.row):
        if not any(
            other.row[:5] == state.row[:5]
            and other.up_ns <= state.up_ns
            and other.down_ns <= state.down_ns
            for other in kept
        ):
            kept.append(state)
    return kept


def _schedule(
    cut: CutCycle, period_ns: int, actions: Sequence[tuple[int, int, int]]
) -> CyclicSchedule:
    """Convert a walk of the kernel into a schedule that begins with the first backward."""
    events: list[CyclicEvent] = []
    started = 0
    for number, place, start_ns in actions:
        if number:
            events.append(CyclicEvent(_KINDS[number - 1], cut.moving[place], start_ns))
        else:
            operation = cut.operations[started]
            is_backward = operation.is_backward
            kind = CyclicEventKind.BACKWARD if is_backward else CyclicEventKind.FORWARD
            started += 1
            events.append(CyclicEvent(kind, operation.layer, start_ns))
    last = cut.problem.cycle.num_layers
    head = next(
        index
        for index, event in enumerate(events)
        if event.kind is CyclicEventKind.BACKWARD and event.layer == last
    )
    shift_ns = events[head].start_ns
    return CyclicSchedule(
        period_ns,
        (
            *(_moved(event, -shift_ns) for event in events[head:]),
            *(_moved(event, period_ns - shift_ns) for event in events[:head]),
        ),
    )


def _moved(event: CyclicEvent, by_ns: int) -> CyclicEvent:
    return CyclicEvent(event.kind, event.layer, event.start_ns + by_ns)
