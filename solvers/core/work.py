"""Work of a search, counted in a unit that is the same on every machine.

Work is counted in moves of annealing that take about as long, since models share a machine with
annealing. The work of HiGHS is counted by `highs_work`: one iteration of the simplex method on a
model of 16 columns is a move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
