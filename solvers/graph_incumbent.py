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
from jettison.solvers import _kernels
from jettison.solvers.clock import Clock
from jettison.solvers.least_peak_anneal import least_peak_by_annealing
from jettison.solvers.remat_anneal import MOVES, annealing_of
from jettison.solvers.status import Termination

# What may pass before a first schedule is known and a first round is over, of the time that is left
# and at most.
_SHARE_OF_FIRST = 0.1
_MOST_FOR_FIRST_S = 10.0
# The share of all time that annealing has between models, in searches that take longer than this.
# Of those that do not, no clock is a part: they find the same in every run.
_SHARE_OF_ALL = 0.2
_CPU_SECONDS_OF_SHORT_SEARCHES = 5.0
# A round that takes more than this of the time that is left is not ended.
_MOST_OF_LEFT = 0.5


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
        base_ns = problem.instance.base_time_ns
        self._search = annealing_of(problem, seed, base_ns)
        self._repair = annealing_of(problem, seed, base_ns)

    @property
    def moves(self) -> int:
        """How many moves were tried."""
        return self._search.tried + self._repair.tried

    def find_first(self) -> None:
        """Anneal until a schedule is known and the first round is over.

        Where some thousand moves find none, the least peak is sought. Ends after a tenth of the
        time, or ten seconds, in any case.
        """
        share_s = min(_MOST_FOR_FIRST_S, _SHARE_OF_FIRST * self._clock.left_s)
        until_s = self._clock.seconds + share_s
        self._anneal(self._search)
        if self.schedule is None and self._clock.left_s:
            least = least_peak_by_annealing(
                self._problem.instance,
                self._seed,
                Clock(share_s),
                stop_at_bytes=self._problem.memory_bytes,
            )
            if least.termination is Termination.INTERRUPTED:
                raise KeyboardInterrupt
            self.least_peak = least.peak_bytes
            self._take_if_best(least.schedule.computations)
            self._search.start_from(np.array(least.schedule.computations, dtype=np.int32))
        while self._search.rounds_ended == 0 and not self._search.is_over:
            if self._clock.seconds >= until_s:
                break
            self._anneal(self._search)

    def improve_from(self, computations: Sequence[int], floor_ns: int) -> None:
        """Take a schedule that may exceed the memory, and anneal from it and from the best one.

        In the first five CPU seconds of a search nothing is annealed here: most searches are over
        by then, and find the same on a busy machine as on an idle one. After that, annealing has a
        fifth of the time that has passed. Where it has had that already, nothing is annealed
        either; otherwise a round from the schedule is ended, if half of the time that is left is
        enough: one that is cut short has not cooled down, and its schedules are seldom better than
        the one that it came from. What is left goes into ever longer rounds from the best schedule.

        Parameters
        ----------
        computations
            As `GraphSchedule.from_computations` takes them; first ones in the order of the graph.
        floor_ns
            No schedule is faster.
        """
        schedule, replay = self._take_if_best(computations)
        if not self._has_share:
            return
        if replay.schedule_class is ScheduleClass.STAGED:
            until_s = self._clock.seconds + _MOST_OF_LEFT * self._clock.left_s
            self._repair.floor_ns = floor_ns
            self._repair.start_from(np.array(schedule.computations, dtype=np.int32))
            while self._repair.rounds_ended == 0 and not self._is_best(floor_ns):
                if self._clock.seconds >= until_s:
                    break
                self._anneal(self._repair)
        while self._has_share and self.improve(floor_ns):
            pass

    def improve(self, floor_ns: int) -> bool:
        """Anneal from the best schedule for some thousand moves; tell whether that made sense."""
        own_ns = self._search.time_ns
        is_better = self.time_ns is not None and (own_ns is None or self.time_ns < own_ns)
        if is_better and self.schedule_class is ScheduleClass.STAGED and self.schedule is not None:
            self._search.start_from(np.array(self.schedule.computations, dtype=np.int32))
        if self._is_best(floor_ns) or self._search.is_over or not self._clock.left_s:
            return False
        self._search.floor_ns = floor_ns
        self._anneal(self._search)
        return True

    @property
    def _has_share(self) -> bool:
        if self._clock.cpu_seconds < _CPU_SECONDS_OF_SHORT_SEARCHES:
            return False
        return self._annealing_s < _SHARE_OF_ALL * self._clock.seconds

    def _is_best(self, floor_ns: int) -> bool:
        return self.time_ns is not None and self.time_ns <= floor_ns

    def _anneal(self, search: _kernels.RematAnneal) -> None:
        started = self._clock.seconds
        left_s = self._clock.left_s
        # Where the time ends the run, the state until then counts.
        with suppress(TimeoutError):
            search.run(MOVES, None if math.isinf(left_s) else left_s)
        self._annealing_s += self._clock.seconds - started
        time_ns = search.time_ns
        if time_ns is not None and (self.time_ns is None or time_ns < self.time_ns):
            self._take_if_best(search.computations)

    def _take_if_best(self, computations: Sequence[int]) -> tuple[GraphSchedule, Replay]:
        """Replay a schedule, and keep it if it fits and is the fastest."""
        schedule = GraphSchedule.from_computations(self._problem.instance, computations)
        replay = schedule.replay(self._problem.instance)
        fits = replay.peak_bytes <= self._problem.memory_bytes
        if fits and (self.time_ns is None or replay.time_ns < self.time_ns):
            self.schedule = schedule
            self.time_ns, self.schedule_class = replay.time_ns, replay.schedule_class
        return schedule, replay
