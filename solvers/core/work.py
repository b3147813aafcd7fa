"""Work of a search, counted in a unit that is the same on every machine.

Work is counted in moves of annealing that take about as long, which is what models share a machine
with. What HiGHS does is counted by `highs_work`: one iteration of the simplex method on a model of
16 columns is a move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.milp.highs_work import CHECK

# What a core made when this was measured; shares of a time limit are counted by it, and the clock
# ends them on a slower machine.
MOVES_PER_SECOND = 700_000


def moves_of_a_limit(options: SolveOptions) -> float:
    """Return the moves that a search may make: its own limit, or a usual machine's in its time.

    Infinitely many where there is no limit.
    """
    if options.most_moves is not None:
        return options.most_moves
    limit_s = options.time_limit_s
    return math.inf if limit_s is None else limit_s * MOVES_PER_SECOND


def share_of_moves(moves: float, share: float) -> int | None:
    """Return a share of moves as `SolveOptions.most_moves` has them."""
    return None if math.isinf(moves) else max(1, int(share * moves))


def moves_of(columns: int, work: int) -> int:
    """Return what HiGHS does on a model of so many columns as moves."""
    return work * columns // CHECK


def work_limit(columns: int, moves: float) -> int:
    """Return the moves as `HighsOptions.work_limit` has them, for a model of so many columns."""
    return max(1, int(moves) * CHECK // max(1, columns))


class Budget:
    """Work that is left of what a search may do.

    Parameters
    ----------
    most_moves
        All of it, in moves of annealing that take as long; None for no end.

    Attributes
    ----------
    left_moves
        What is left; infinite without an end.
    """

    def __init__(self, most_moves: int | None) -> None:
        self.left_moves = math.inf if most_moves is None else most_moves

    def limit(self, columns: int) -> int | None:
        """Return what is left for a run on a model of so many columns, as HiGHS's is counted."""
        return None if math.isinf(self.left_moves) else work_limit(columns, self.left_moves)

    def add(self, work: int, columns: int) -> int:
        """Count work of HiGHS on a model of so many columns; return how many moves that is."""
        moves = moves_of(columns, work)
        self.left_moves = max(0, self.left_moves - moves)
        return moves


@dataclass
class WorkShare:
    """How much work a run of HiGHS may do: some times what was done before it, but not too little.

    Attributes
    ----------
    least_moves
        What every run may do.
    times_all
        What it may do beside that, as a multiple of all work before it.
    moves
        The work so far.
    """

    least_moves: int = 4_000_000
    times_all: int = 5
    moves: int = 0

    def limit(self, columns: int) -> int:
        """Return the most work of a run on a model of so many columns, as HiGHS's is counted."""
        return work_limit(columns, max(self.least_moves, self.times_all * self.moves))

    def add(self, work: int, columns: int) -> int:
        """Count work of HiGHS on a model of so many columns; return how many moves that is."""
        moves = moves_of(columns, work)
        self.moves += moves
        return moves
