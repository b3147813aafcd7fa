"""Log of a search: one line on standard error for each better schedule and larger bound."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from jettison.instances.core.units import format_bytes, format_ns, percent
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.replay import Replay
from jettison.solvers.core.answers.gap import gap_of
from jettison.solvers.core.answers.rows import duration
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.problem import Problem

_DIGITS = 6


class SearchLog:
    """Writer of the log: its methods are the callbacks of a search.

    Parameters
    ----------
    problem
        The problem that is solved.
    run
        Stands before what is found, where there are several runs.
    started_s
        When seconds begin to count; by default now.
    """

    def __init__(self, problem: Problem, run: str = "", started_s: float | None = None) -> None:
        self._problem = problem
        self._run = run and f"{run}: "
        self._started = time.perf_counter() if started_s is None else started_s
        self._time_ns: int | None = None
        self._bound: Bound | None = None

    def schedule(self, _: Schedule, replay: Replay) -> None:
        """Write a line for a better schedule."""
        self._time_ns = replay.time_ns
        peak = format_bytes(replay.peak_bytes)
        self._write("schedule", f"{duration(self._problem, replay.time_ns)}, peak {peak}")

    def bound(self, bound: Bound) -> None:
        """Write a line for a larger bound."""
        if self._bound is None or bound.time_ns > self._bound.time_ns:
            self._bound = bound
        value = format_ns(bound.time_ns, _DIGITS)
        self._write("bound", f"{value} for {bound.valid_for}, by {bound.method}")

    def _write(self, what: str, text: str) -> None:
        gap = ""
        if self._time_ns is not None and self._bound is not None:
            base_ns = self._problem.base_time_ns
            share = gap_of(self._time_ns, min(self._bound.time_ns, self._time_ns), base_ns)
            gap = f"; gap {percent(share)}"
        seconds = time.perf_counter() - self._started
        sys.stderr.write(f"{seconds:9.3f} s  {what:8}  {self._run}{text}{gap}\n")


class RunLogs:
    """Logs of several runs, whose lines begin with memory, link and method."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def __call__(self, options: SolveOptions, problem: Problem, method: str) -> SolveOptions:
        """Return the options with a log for one of the runs."""
        memory = problem.memory or f"{problem.memory_bytes} bytes"
        link = "" if problem.link is None else f" {problem.link}"
        log = SearchLog(problem, f"{memory}{link} {method}", self._started)
        return replace(options, on_progress=None, on_schedule=log.schedule, on_bound=log.bound)
