"""The best schedule of a graph that a search knows, and annealing to better it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.schedules.replay import Replay
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.clock import Clock
from jettison.solvers.least_peak_anneal import least_peak_by_annealing
from jettison.solvers.remat_anneal import MOVES, annealing_of
from jettison.solvers.status import Termination

# What may pass before a first schedule is known, of the time that is left and at most; and the
# share of all time that annealing has between models.
_SHARE_OF_FIRST = 0.1
_MOST_FOR_FIRST_S = 10.0
_SHARE_OF_ALL = 0.2


class GraphIncumbent:
    """The best schedule so far.

    Parameters
    ----------
    problem
        The instance and its memory.
    seed
        Of the annealing.
    clock
        When to stop.

    Attributes
    ----------
    schedule
        The fastest schedule known that fits; None before the first.
    time_ns, schedule_class
        Its replayed time, and the narrowest class that it belongs to.
    least_peak
        The least peak that was found, in bytes, where it had to be sought; None elsewhere.
    """

    def __init__(self, problem: RematGraph, seed: int, clock: Clock) -> None:
        self.schedule: GraphSchedule | None = None
        self.time_ns: int | None = None
        self.schedule_class: ScheduleClass | None = None
        self.least_peak: int | None = None
        self._seed = seed
        self._problem = problem
        self._clock = clock
        self._annealing_s = 0.0
        self._search = annealing_of(problem, seed, problem.instance.base_time_ns)

    @property
    def moves(self) -> int:
        """How many moves were tried."""
        return self._search.tried

    def find_first(self) -> None:
        """Anneal until a schedule is known, for a tenth of the time or ten seconds at most.

        Where some thousand moves find none, the least peak is sought.
        """
        self._anneal()
        if self.schedule is not None or not self._clock.left_s:
            return
        share = Clock(min(_MOST_FOR_FIRST_S, _SHARE_OF_FIRST * self._clock.left_s))
        least = least_peak_by_annealing(
            self._problem.instance, self._seed, share, stop_at_bytes=self._problem.memory_bytes
        )
        if least.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        self.least_peak = least.peak_bytes
        self._take_if_best(least.schedule.computations)
        self._search.start_from(np.array(least.schedule.computations, dtype=np.int32))

    def improve_from(self, computations: Sequence[int], floor_ns: int) -> None:
        """Take a schedule that may exceed the memory, and anneal from it.

        Annealing has a quarter of the time that has passed.

        Parameters
        ----------
        computations
            As `GraphSchedule.from_computations` takes them; first ones in the order of the graph.
        floor_ns
            No schedule is faster.
        """
        schedule, replay = self._take_if_best(computations)
        if replay.schedule_class is ScheduleClass.STAGED:
            self._search.start_from(np.array(schedule.computations, dtype=np.int32))
        while self._annealing_s < _SHARE_OF_ALL * self._clock.seconds and self.improve(floor_ns):
            pass

    def improve(self, floor_ns: int) -> bool:
        """Anneal for some thousand moves; tell whether that made sense."""
        is_best = self.time_ns is not None and self.time_ns <= floor_ns
        if is_best or self._search.is_over or not self._clock.left_s:
            return False
        self._search.floor_ns = floor_ns
        self._anneal()
        return True

    def _anneal(self) -> None:
        started = self._clock.seconds
        left_s = self._clock.left_s
        # Where the time ends the run, the state until then counts.
        with suppress(TimeoutError):
            self._search.run(MOVES, None if math.isinf(left_s) else left_s)
        self._annealing_s += self._clock.seconds - started
        time_ns = self._search.time_ns
        if time_ns is not None and (self.time_ns is None or time_ns < self.time_ns):
            self._take_if_best(self._search.computations)

    def _take_if_best(self, computations: Sequence[int]) -> tuple[GraphSchedule, Replay]:
        """Replay a schedule, and keep it if it fits and is the fastest."""
        schedule = GraphSchedule.from_computations(self._problem.instance, computations)
        replay = schedule.replay(self._problem.instance)
        fits = replay.peak_bytes <= self._problem.memory_bytes
        if fits and (self.time_ns is None or replay.time_ns < self.time_ns):
            self.schedule = schedule
            self.time_ns, self.schedule_class = replay.time_ns, replay.schedule_class
        return schedule, replay
