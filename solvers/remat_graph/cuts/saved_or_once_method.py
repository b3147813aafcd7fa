r"""saved-or-once: the best schedule whose values are saved between the passes or recomputed once.

This is what compilers choose from that partition a training step in a forward and a backward
function (`ScheduleClass.SAVED_OR_ONCE`): torch's min-cut partitioner, selective checkpointing,
policies that save by name. The optimum of the class is the best that any planner of this kind can
do, and its distance to the optimum of all schedules is what the kind itself costs.

The search is that of `restricted_method`, in which a model of few cuts is solved and cuts and slots
are added where the schedule of its point exceeds the memory, with two differences: each value has a
row (once) (`SavedBetweenPasses` in `formulations.remat_graph.windows.presets` is the full model),
and bounds are kept, which hold for the class: the relaxation's, whose multipliers are evaluated in
exact arithmetic, and that of HiGHS. It begins from the fastest schedule of the class that its
baselines find; of annealing, whose schedules are of no class, what they save between the passes.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.formulations.remat_graph.recomputation import SavedOrOnce
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.saved_or_once import boundary_of
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.baselines_first import BASELINES, schedules_of_baselines
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.search import search_in_rounds
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import WorkShare
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts.bounds import ModelBounds
from jettison.solvers.remat_graph.cuts.model_runs import GraphModelRuns, without_a_point
from jettison.solvers.remat_graph.cuts.restricted_method import (
    RESTRICTED,
    RestrictedParams,
    RestrictedRounds,
)
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory
from jettison.solvers.remat_graph.planners.boundary_plan import PlanBoundary

METHOD = "saved-or-once"
CLASS = ScheduleClass.SAVED_OR_ONCE


def solve_saved_or_once(
    problem: RematGraph, options: SolveOptions, params: RestrictedParams = RESTRICTED
) -> Outcome:
    """Return the fastest schedule of the class, proved, or the best found with its bound.

    Returns
    -------
    Outcome
        With bounds for the class, or the proof that none of its schedules fits; others may.
    """
    settled = too_little_memory(problem) or memory_for_everything(problem)
    if settled is not None:
        return settled
    if boundary_of(problem.instance) is None:
        return Outcome.not_applicable(
            f"{METHOD} looks at what is saved between the passes, and no operation has the mark of "
            "the backward pass, or a forward one comes behind; use another method"
        )
    clock = Clock(options.time_limit_s)
    rounds = SavedOrOnceRounds(problem, options, clock, params)
    with Ending() as ending:
        for schedule in schedules_of_baselines(problem, METHOD, options, clock, BASELINES):
            assert isinstance(schedule, GraphSchedule)
            rounds.begin_from(schedule)
        ending.termination = search_in_rounds(rounds, rounds.incumbent, clock)
    return rounds.outcome(ending.termination)


class SavedOrOnceRounds(RestrictedRounds):
    """Rounds of models whose points are schedules of the class, with bounds.

    Parameters
    ----------
    problem, options, clock, params
        As for the method.
    """

    def __init__(
        self, problem: RematGraph, options: SolveOptions, clock: Clock, params: RestrictedParams
    ) -> None:
        super().__init__(problem, options, clock, params, SavedOrOnce(), CLASS)
        base_ns = problem.instance.base_time_ns
        self._bounds = ModelBounds(self.incumbent, base_ns, METHOD, CLASS)
        share = WorkShare(params.least_moves, params.times_all)
        self._runs = GraphModelRuns(self.incumbent, self._bounds, options, clock, share)
        self._infeasibility: Infeasibility | None = None

    def begin_from(self, schedule: GraphSchedule) -> None:
        """Take a schedule as the start of the first model, if it is the fastest of the class.

        Of another one that is taken that saves the same values between the passes.
        """
        self.incumbent.begin_from(schedule, GraphSchedule, CLASS)
        boundary = PlanBoundary(self._problem.instance)
        computations = boundary.computations(boundary.saved_by(schedule.computations))
        projected = GraphSchedule.from_computations(self._problem.instance, computations)
        self.incumbent.begin_from(projected, GraphSchedule, CLASS)
        self._given = self.incumbent.schedule

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best so far, with the bounds of the class or the proof that nothing fits."""
        found = super().outcome(termination)
        if self._infeasibility is None or found.schedule is not None:
            return found
        return replace(found, infeasibility=self._infeasibility, bounds=())

    def relax(self, model: WindowedModel) -> None:
        """Raise the bound of the class by the multipliers of the relaxation."""
        self._runs.prove(model, self._runs.relaxation(model).row_duals)

    def solve(self, model: WindowedModel) -> ModelSolution:
        """Solve a model, keep schedules that fit, and raise the bound by the solver's."""
        solution = super().solve(model)
        self._bounds.believe(solution.dual_bound, model.time_scale, CLASS)
        return solution

    def no_point(self, model: WindowedModel) -> Termination:
        """Record the proof that no schedule of the class fits; others may."""
        super().no_point(model)
        self._note = (
            "no schedule fits that saves a value between the passes or computes it again once; "
            "use another method"
        )
        if self.incumbent.schedule is None:
            self._infeasibility = without_a_point(self._problem.memory_bytes, model, CLASS)
        return Termination.COMPLETED
