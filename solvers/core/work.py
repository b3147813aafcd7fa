"""Work of a search, counted in a unit that is the same on every machine.

Work is counted in moves of annealing that take about as long, since models share a machine with
annealing. The work of HiGHS is counted by `highs_work`: one iteration of the simplex method on a
model of 16 columns is a move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.milp.highs_work import CHECK

# Moves per second of a core when this was measured. It converts shares of a time limit into moves;
# on a slower machine the clock ends them.
MOVES_PER_SECOND = 700_000


def moves_of_a_limit(options: SolveOptions) -> float:
    """Return the limit on moves, or that of a usual machine within the time limit.

    Infinite where there is no limit.
    """
    if options.most_moves is not None:
        return options.most_moves
    limit_s = options.time_limit_s
    return math.inf if limit_s is None else limit_s * MOVES_PER_SECOND


def share_of_moves(moves: float, share: float) -> int | None:
    """Return a share of moves in the form of `SolveOptions.most_moves`."""
    return None if math.isinf(moves) else max(1, int(share * moves))


def moves_of(columns: int, work: int) -> int:
    """Return work of HiGHS on a model with `columns` columns, converted into moves."""
    return work * columns // CHECK


def work_limit(columns: int, moves: float) -> int:
    """Return moves converted into `HighsOptions.work_limit` for a model with `columns` columns."""
    return max(1, int(moves) * CHECK // max(1, columns))


class Budget:
    """Budget of work of a search.

    Parameters
    ----------
    most_moves
        The whole budget, in moves of annealing that take as long; None for no limit.

    Attributes
    ----------
    left_moves
        The rest of the budget; infinite without a limit.
    """

    def __init__(self, most_moves: int | None) -> None:
        self.left_moves = math.inf if most_moves is None else most_moves

    def limit(self, columns: int) -> int | None:
        """Return the rest of the budget as a work limit of HiGHS, for a model with `columns`."""
        return None if math.isinf(self.left_moves) else work_limit(columns, self.left_moves)

    def add(self, work: int, columns: int) -> int:
        """Count work of HiGHS on a model of so many columns; return how many moves that is."""
        moves = moves_of(columns, work)
        self.left_moves = max(0, self.left_moves - moves)
        return moves


@dataclass(frozen=True, kw_only=True)
class ShareParams(Params):
    """Parameters of `WorkShare`.

    Attributes
    ----------
    least_moves
        Work that every run of HiGHS may do, in moves of annealing that take as long.
    times_all
        Work that a run of HiGHS may do, as a multiple of the work of all runs before it.
    """

    least_moves: int = 4_000_000
    times_all: int = 5


@dataclass
class WorkShare:
    """Limit on the work of each run of HiGHS: a least amount or a multiple of all work before it.

    Attributes
    ----------
    least_moves, times_all
        As in `ShareParams`.
    moves
        The work so far.
    """

    least_moves: int
    times_all: int
    moves: int = 0

    def limit(self, columns: int) -> int:
        """Return the most work of a run on a model of so many columns, as HiGHS's is counted."""
        return work_limit(columns, max(self.least_moves, self.times_all * self.moves))

    def add(self, work: int, columns: int) -> int:
        """Count work of HiGHS on a model of so many columns; return how many moves that is."""
        moves = moves_of(columns, work)
        self.moves += moves
        return moves


class ShareOfABudget:
    """Limit on the work of each run of HiGHS by a share, and on that of all runs by a budget.

    Parameters
    ----------
    budget, share
        Both count all work.
    """

    def __init__(self, budget: Budget, share: WorkShare) -> None:
        self._budget = budget
        self._share = share

    @property
    def is_spent(self) -> bool:
        """Whether the budget is."""
        return self._budget.left_moves <= 0

    def limit(self, columns: int) -> int:
        """Return the most work of a run on a model of so many columns, as HiGHS's is counted."""
        whole, share = self._budget.limit(columns), self._share.limit(columns)
        return share if whole is None else min(whole, share)

    def add(self, work: int, columns: int) -> int:
        """Count work of HiGHS on a model of so many columns; return how many moves that is."""
        self._share.add(work, columns)
        return self._budget.add(work, columns)


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
