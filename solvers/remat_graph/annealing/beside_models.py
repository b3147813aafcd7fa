"""Simulated annealing of a graph's recomputations beside runs of HiGHS, with a budget of moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.params import Params
from jettison.solvers.remat_graph.annealing.least_peak import least_peak_by_annealing
from jettison.solvers.remat_graph.annealing.method import ANNEAL, annealing_of


@dataclass(frozen=True, kw_only=True)
class BesideParams(Params):
    """Parameters of annealing before and beside models: its share of the work.

    Attributes
    ----------
    moves_at_once
        Moves of annealing between two looks at the clock, and the portion in which those are made
        that the work of HiGHS is worth.
    most_first_moves
        Moves of annealing before the first models, at most, and again of the search for a small
        peak where they find no schedule.
    rounds_from_a_point
        Rounds of annealing from the schedule of a model's point, at most.
    """

    moves_at_once: int = ANNEAL.moves_at_once
    most_first_moves: int = 3_000_000
    rounds_from_a_point: int = 3


BESIDE = BesideParams()


class GraphAnnealing:
    """Annealing that spends the moves it is granted, and restarts from schedules found elsewhere.

    Parameters
    ----------
    problem
        The instance and its memory.
    seed
        Seed of the annealing.
    clock
        The time limit.
    offer
        Called with each schedule that fits and is faster than those before.
    params
        How many moves there are before the first models, and in a portion.

    Attributes
    ----------
    schedule
        The fastest schedule known here that fits, a point to start models from; None before the
        first.
    time_ns, schedule_class
        Its time, and the narrowest class that it belongs to.
    least_peak
        The least peak that was found, in bytes, if it was searched for; None otherwise.
    """

    def __init__(
        self,
        problem: RematGraph,
        seed: int,
        clock: Clock,
        offer: Callable[[GraphSchedule], object] = lambda schedule: None,
        params: BesideParams = BESIDE,
    ) -> None:
        self.schedule: GraphSchedule | None = None
        self.time_ns: int | None = None
        self.schedule_class: ScheduleClass | None = None
        self.least_peak: int | None = None
        self._seed = seed
        self._problem = problem
        self._clock = clock
        self._offer = offer
        self._params = params
        # Moves of annealing, the work of HiGHS in the same measure, and the part of it for which no
        # moves have been made yet.
        self._granted = 0
        self._repaired = 0
        self._owed = 0
        base_ns = problem.instance.base_time_ns
        self._search = annealing_of(problem, seed, base_ns)
        self._repair = annealing_of(problem, seed, base_ns)

    @property
    def moves(self) -> int:
        """Number of moves that were tried."""
        return self._search.tried + self._repaired + self._repair.tried

    def find_first(self) -> None:
        """Anneal until a schedule is known and the first round is over.

        Where some thousand moves find none, annealing searches for the least peak. It ends after
        `BesideParams.most_first_moves` in any case.
        """
        self._anneal(self._search)
        if self.schedule is None and self._clock.left_s:
            least = least_peak_by_annealing(
                self._problem.instance,
                self._seed,
                self._clock,
                stop_at_bytes=self._problem.memory_bytes,
                most_moves=self._params.most_first_moves,
                moves_at_once=self._params.moves_at_once,
            )
            pass_interrupt_on(least.termination)
            self.least_peak = least.peak_bytes
            self._take(least.schedule)
            self._search.start_from(np.array(least.schedule.computations, dtype=np.int32))
        while self._search.rounds_ended == 0 and not self._search.is_over:
            if self._search.tried >= self._params.most_first_moves or not self._clock.left_s:
                break
            self._anneal(self._search)
        self._granted += self._search.tried

    def improve_beside(self, moves: int, floor_ns: int) -> None:
        """Anneal for the moves that the work of HiGHS since the last call is worth.

        Moves are saved up and spent in whole portions. Where all rounds are over, new ones begin
        from the best schedule.
        """
        self._granted += moves
        self._owed += moves
        piece = self._params.moves_at_once
        while self._owed >= piece and self._clock.left_s and not self._is_best(floor_ns):
            self._owed -= piece
            if self._search.is_over and self._can_start:
                self._start_from_best()
            self.improve(floor_ns)

    def improve_from(self, computations: Sequence[int], floor_ns: int) -> None:
        """Take a schedule that may exceed the memory, and anneal from it for some rounds.

        A round that has begun runs to its end, since it must cool down. Rounds from such schedules
        get at most about twice the moves of all others: those before the first model, and those
        granted beside the models.

        Parameters
        ----------
        computations
            As `GraphSchedule.from_computations` takes them; first ones in the order of the graph.
        floor_ns
            Lower bound on the time.
        """
        schedule = GraphSchedule.from_computations(self._problem.instance, computations)
        if not ScheduleClass.STAGED.covers(self._take(schedule)):
            return
        # A new search each time, whose price of memory is the initial one.
        self._repaired += self._repair.tried
        self._repair = annealing_of(self._problem, self._seed, floor_ns)
        self._repair.start_from(np.array(schedule.computations, dtype=np.int32))
        for rounds in range(1, self._params.rounds_from_a_point + 1):
            if self._repaired + self._repair.tried > 2 * self._granted:
                return
            while self._repair.rounds_ended < rounds:
                if self._is_best(floor_ns) or self._repair.is_over or not self._clock.left_s:
                    return
                self._anneal(self._repair)

    def improve(self, floor_ns: int) -> bool:
        """Anneal from the best schedule for some thousand moves; tell whether there was one."""
        own_ns = self._search.time_ns
        is_better = self.time_ns is not None and (own_ns is None or self.time_ns < own_ns)
        if is_better and self._can_start:
            self._start_from_best()
        if self._is_best(floor_ns) or self._search.is_over or not self._clock.left_s:
            return False
        self._search.floor_ns = floor_ns
        self._anneal(self._search)
        return True

    @property
    def _can_start(self) -> bool:
        found = self.schedule_class
        return found is not None and ScheduleClass.STAGED.covers(found)

    def _start_from_best(self) -> None:
        assert self.schedule is not None
        self._search.start_from(np.array(self.schedule.computations, dtype=np.int32))

    def _is_best(self, floor_ns: int) -> bool:
        return self.time_ns is not None and self.time_ns <= floor_ns

    def _anneal(self, search: _kernels.RematAnneal) -> None:
        left_s = self._clock.left_s
        # Where the time limit ends the run, the state by then counts.
        with suppress(TimeoutError):
            search.run(self._params.moves_at_once, None if math.isinf(left_s) else left_s)
        time_ns = search.time_ns
        if time_ns is not None and (self.time_ns is None or time_ns < self.time_ns):
            graph = self._problem.instance
            self._take(GraphSchedule.from_computations(graph, search.computations))

    def _take(self, schedule: GraphSchedule) -> ScheduleClass:
        """Keep a schedule if it fits and is the fastest; return its class."""
        replay = schedule.replay(self._problem.instance)
        fits = replay.peak_bytes <= self._problem.memory_bytes
        if fits and (self.time_ns is None or replay.time_ns < self.time_ns):
            self.schedule = schedule
            self.time_ns, self.schedule_class = replay.time_ns, replay.schedule_class
            self._offer(schedule)
        return replay.schedule_class
