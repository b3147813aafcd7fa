"""Runs of HiGHS on models of recomputations: what ends them, and what they hand back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.core.work import WorkShare
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution, Progress
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns
from tests.core.bound_runs import EXACT
from tests.tiny import SKIP

PROBLEM = RematGraph(SKIP, 7)


def runs(options: SolveOptions) -> GraphModelRuns:
    clock = Clock(None)
    incumbent: Incumbent[GraphSchedule] = Incumbent(
        lambda schedule: schedule.replay(SKIP, 7), SKIP.base_time_ns, options, clock
    )
    bounds = ModelBounds(incumbent, SKIP.base_time_ns, "test", ScheduleClass.IN_ORDER)
    return GraphModelRuns(
        incumbent, bounds, options, clock, WorkShare(least_moves=4_000_000, times_all=5)
    )


def test_a_run_that_reached_the_gap_hands_back_the_point_that_it_had_then() -> None:
    built = WindowedFrontier((2,)).build(PROBLEM)
    first, later = np.zeros(built.model.num_columns), np.ones(built.model.num_columns)

    def stopped_late(
        model: ArrayModel,
        options: HighsOptions,
        on_progress: Callable[[Progress], None],
        *,
        on_incumbent: Callable[[Floats], None],
        on_work: Callable[[Progress], None],
        stop: threading.Event,
        columns_for_a_child: int,
    ) -> ModelSolution:
        """HiGHS that hears of the stop when it has found another point, as a slow one may."""
        on_incumbent(first)
        # Of 5 + 2 ns, 1 is open: half of what is above the 5 that no schedule avoids.
        on_work(Progress(0.0, objective=2.0, dual_bound=1.0, nodes=3, work=200))
        assert stop.is_set()
        on_incumbent(later)
        on_work(Progress(0.0, objective=1.0, dual_bound=1.0, nodes=9, work=400))
        return ModelSolution(
            termination=Termination.INTERRUPTED,
            answer=Answer.FEASIBLE,
            values=later,
            dual_bound=1.0,
            nodes=9,
            seconds=0.0,
        )

    with patch("jettison.solvers.remat_graph.cuts.model_runs.solve_in_time", stopped_late):
        found = runs(replace(EXACT, gap=0.5)).solve(built, ScheduleClass.IN_ORDER)
    assert found.termination is Termination.GAP_REACHED
    assert (found.dual_bound, found.nodes) == (1.0, 3)
    assert found.values is not None
    assert found.values.tolist() == first.tolist()
