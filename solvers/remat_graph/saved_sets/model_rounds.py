"""Rounds of models in a search for sets: the bound they prove, and how the search ended."""

from __future__ import annotations

from typing import Protocol

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_graph.graph import Graph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution


class BuiltSets(Protocol):
    """Built model of sets, whose objective is the time of what is computed again."""

    @property
    def model(self) -> ArrayModel:
        """The model."""

    @property
    def time_scale(self) -> IntegerScale:
        """Scale of its objective."""


class ModelRounds:
    """Rounds of models of one graph; by a floating-point solver.

    Parameters
    ----------
    graph
        The graph.
    work
        Work of HiGHS for one model (`jettison.solvers.milp.highs_work`).

    Attributes
    ----------
    is_refuted
        Whether a model has proved that no set fits.
    is_finished
        Whether the search came to its end, and not to its time limit.
    bound_ns
        Best lower bound so far.
    num_models
        Models that were solved.
    """

    def __init__(self, graph: Graph, work: int) -> None:
        self.is_refuted = False
        self.is_finished = True
        self.bound_ns = graph.base_time_ns
        self.num_models = 0
        self._base_ns = graph.base_time_ns
        self._work = work

    def solve(self, built: BuiltSets, clock: Clock, *, holds_for_all: bool) -> ModelSolution:
        """Solve a model; what it proves counts if it holds for all sets."""
        solution = solve_in_time(
            built.model, HighsOptions(time_limit_s=clock.left_s, gap=0.0, work_limit=self._work)
        )
        self.num_models += 1
        if holds_for_all:
            if solution.dual_bound is not None:
                again_ns = built.time_scale.bound_from_model(solution.dual_bound)
                self.bound_ns = max(self.bound_ns, self._base_ns + again_ns)
            if solution.values is None:
                self.is_refuted |= solution.answer is Answer.INFEASIBLE
        return solution
