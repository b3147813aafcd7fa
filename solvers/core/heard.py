"""Callbacks of a run: each better schedule and each larger bound is reported once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import SolveOptions


class Heard:
    """Filter between a method's reports and the caller's callbacks.

    A method need not report anything: its outcome is reported at its end. Schedules and bounds that
    are no better than those before are not passed on.

    Parameters
    ----------
    options
        The caller's options, with the callbacks `on_schedule` and `on_bound`.

    Attributes
    ----------
    options
        The options for the method, with this filter as callbacks.
    """

    def __init__(self, options: SolveOptions) -> None:
        self._on_schedule, self._on_bound = options.on_schedule, options.on_bound
        self._time_ns: int | None = None
        self._bounds_ns: dict[ScheduleClass, int] = {}
        self.options = replace(
            options,
            on_schedule=None if self._on_schedule is None else self.schedule,
            on_bound=None if self._on_bound is None else self.bound,
        )

    def schedule(self, schedule: Any, replay: Replay) -> None:
        """Report a schedule if it is the fastest so far."""
        if self._on_schedule is None or not replay.valid:
            return
        if self._time_ns is None or replay.time_ns < self._time_ns:
            self._time_ns = replay.time_ns
            self._on_schedule(schedule, replay)

    def bound(self, bound: Bound) -> None:
        """Report a bound if none for its class was as large."""
        if self._on_bound is None:
            return
        known = (ns for known, ns in self._bounds_ns.items() if known.covers(bound.valid_for))
        if bound.time_ns > max(known, default=-1):
            self._bounds_ns[bound.valid_for] = bound.time_ns
            self._on_bound(bound)

    def bounds(self, bounds: Iterable[Bound]) -> None:
        """Report all bounds that are larger than those before."""
        for bound in bounds:
            self.bound(bound)
