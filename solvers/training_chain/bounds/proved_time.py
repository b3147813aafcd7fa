"""Bound on the time of a step that multipliers of a linear program prove in exact arithmetic."""

from __future__ import annotations

import math

from jettison.formulations.training_chain.cycle_bound import CycleBoundModel
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.solution import ModelSolution


def proved_by(built: CycleBoundModel, solution: ModelSolution) -> tuple[int, float] | None:
    """Return the bound in nanoseconds, and by which share it misses the program's objective.

    None where there are no multipliers, or they prove nothing.
    """
    if solution.row_duals is None:
        return None
    proved = exact_dual_bound(built.model, solution.row_duals)
    if proved is None:
        return None
    gap = math.inf
    if solution.objective is not None and solution.objective > 0:
        gap = 1 - float(proved) / solution.objective
    return built.scale.time_ns(proved), gap
