"""Clock of a search that shares out work, counted the same on every machine, and no seconds."""

from __future__ import annotations

import math

from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.work import work_limit


class WorkClock(Clock):
    """Clock that is over when the time is, or a share of the work is done.

    So what a search finds does not depend on how fast or busy the machine is: a time limit only
    ends it. The clock of the whole search has no other end than the time: where all of its work is
    done and there is time left, it has as much again to share out.

    Parameters
    ----------
    clock
        The time.
    moves
        The work, in moves of annealing that take as long; infinite for no limit.
    whole
        The clock of which it is a share; None for that of the whole search.

    Attributes
    ----------
    spent_moves
        The work that was counted.
    """

    def __init__(self, clock: Clock, moves: float, whole: WorkClock | None = None) -> None:
        super().__init__(None)
        self._clock = clock
        self._all_moves = moves
        self._left_moves = moves
        self._whole = whole
        self.spent_moves = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the clock of the time was made."""
        return self._clock.seconds

    @property
    def left_s(self) -> float:
        """Seconds until the time is over; 0 where the share of the work is done."""
        return 0.0 if self._is_spent else self._clock.left_s

    def require_time(self) -> None:
        """Raise an exception if no time is left, or no work.

        Raises
        ------
        TimeoutError
            If there is none.
        """
        if self._is_spent:
            raise TimeoutError
        self._clock.require_time()

    def share(self, part: float) -> WorkClock:
        """Return the clock of a share of the work that is left."""
        if self._whole is None and self._left_moves <= 0:
            self._left_moves = self._all_moves
        return WorkClock(self._clock, part * self._left_moves, self)

    def spend(self, moves: float) -> None:
        """Count work, here and in what this is a share of."""
        self.spent_moves += moves
        self._left_moves -= moves
        if self._whole is not None:
            self._whole.spend(moves)

    def work_limit(self, columns: int) -> int | None:
        """Return the rest of a share as a work limit of HiGHS, for a model with `columns`."""
        if self._whole is None or math.isinf(self._left_moves):
            return None
        return work_limit(columns, self._left_moves)

    @property
    def left_moves(self) -> int | None:
        """The work that is left, at least 1, as `SolveOptions.most_moves`; None for no limit."""
        return None if math.isinf(self._left_moves) else max(1, int(self._left_moves))

    @property
    def _is_spent(self) -> bool:
        return self._whole is not None and self._left_moves <= 0


def clock_of(options: SolveOptions) -> Clock:
    """Return the clock of a method that ends at its time limit, or when its work is done."""
    clock = Clock(options.time_limit_s)
    if options.most_moves is None:
        return clock
    return WorkClock(clock, options.most_moves).share(1.0)
