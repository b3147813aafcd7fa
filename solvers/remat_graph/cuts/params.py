"""Parameters of exact and cut-bound for graphs: models of cuts, annealing beside them, shares."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.core.work import ShareParams
from jettison.solvers.milp.highs_in_time import ChildParams
from jettison.solvers.remat_graph.annealing.beside_models import BesideParams
from jettison.solvers.remat_graph.cuts.rows import RowParams
from jettison.solvers.remat_graph.least_memory import LeastMemoryParams


@dataclass(frozen=True, kw_only=True)
class ExactParams(LeastMemoryParams, BesideParams, RowParams, ShareParams, ChildParams):
    """Parameters of the search by cuts.

    Attributes
    ----------
    stages_looked_at
        Stages whose relaxations are solved before the first model with its integers.
    most_columns
        Columns R and S of the largest model that is built.
    beside
        Work of HiGHS, in moves of annealing that take as long, for each move made beside it.
    moves_per_baseline
        Moves of annealing, for each node, before the next baseline runs.
    """

    stages_looked_at: int = 4
    most_columns: int = 100_000
    beside: int = 2
    moves_per_baseline: int = 200


EXACT = ExactParams()
