"""Engines of the search by KIWI's models: what is given to a solver, and HiGHS as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.work import Budget, ShareOfABudget
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns


class WrittenModel(Protocol):
    """Model in the form that an engine reads: columns in an order, with names, and its sizes."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    @property
    def num_columns(self) -> int:
        """The number of columns."""

    @property
    def num_nonzeros(self) -> int:
        """The number of coefficients in the rows."""


M = TypeVar("M", bound=WrittenModel)


class KiwiModel(Protocol):
    """Built model whose objective is the time of the whole step."""

    @property
    def memory_scale(self) -> IntegerScale:
        """The unit of its sizes."""

    @property
    def time_scale(self) -> IntegerScale:
        """The unit of its objective."""

    def schedule(self, values: Mapping[str, float]) -> ShardedSchedule:
        """Return the schedule of a point."""

    def point(self, plan: ShardedSchedule) -> Mapping[str, float]:
        """Return the values of some columns in the point of a plan, by name."""


@dataclass(frozen=True, eq=False)
class BuiltKiwi(Generic[M]):
    """Model as it was built, and in the form that the engine reads."""

    built: KiwiModel
    model: M

    @property
    def memory_scale(self) -> IntegerScale:
        """The unit of its sizes."""
        return self.built.memory_scale

    @property
    def time_scale(self) -> IntegerScale:
        """The unit of its objective."""
        return self.built.time_scale

    def start(self, plan: ShardedSchedule) -> Floats:
        """Return a plan of the class as a point; NaN in columns that it leaves open."""
        point = self.built.point(plan)
        return np.array([point.get(name, math.nan) for name in self.model.column_names])


@dataclass(frozen=True, eq=False)
class EngineRun(Generic[M]):
    """Run of an engine on one model.

    Attributes
    ----------
    model
        The model.
    valid_for
        The class of schedules that its bound holds for.
    incumbent, bounds
        The bound of the run goes to `bounds`; the run ends where the incumbent is settled.
    options, clock, budget
        Of the method.
    start
        A point to start from, NaN where unknown.
    offer
        Called with each better point.
    """

    model: BuiltKiwi[M]
    valid_for: ScheduleClass
    incumbent: Incumbent[ShardedSchedule]
    bounds: ModelBounds
    options: SolveOptions
    clock: Clock
    budget: Budget | ShareOfABudget
    start: Floats | None
    offer: Callable[[Floats], None]


def run_highs(run: EngineRun[ArrayModel]) -> ModelSolution:
    """Solve a linear model by HiGHS."""
    runs = GraphModelRuns(run.incumbent, run.bounds, run.options, run.clock, run.budget)
    return runs.solve(run.model, run.valid_for, run.start, run.offer)
