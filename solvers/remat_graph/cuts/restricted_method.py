r"""restricted: the best schedule whose recomputations are forward operations in the backward pass.

The restriction is that of checkpointing as frameworks offer it: the forward pass is left as it is,
and no backward operation is repeated (`Restricted` in `formulations.remat_graph.windows.presets` is
the full model). Its optimum is the time of a schedule, and so an upper bound on that of all. Most
of the columns of the full model decide nothing. So it is solved as `exact_method` solves the
problem without the restriction, by windows between few cuts
(`formulations.remat_graph.windows.frontier`), in which only permitted nodes are recomputed:

1. The first cut is where the step without recomputation needs most memory.
2. The best point becomes a schedule, which is replayed. Where first computations exceed the memory,
   their stages become cuts; where only recomputations do, slots become rows.
3. When the schedule of an optimal point fits, no restricted staged schedule is faster.

All cuts and slots together are the full model, so the rounds end. Schedules that fit on the way are
kept. A model that is not solved in its share of the work, counted in the work of HiGHS
(`core.work`) and never in seconds, is solved again from its best point with a larger share. No
bound is returned, since the model's bound holds for restricted schedules only. In a graph without
operations marked as backward there is nothing to recompute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_graph.recomputation import (
    ForwardNodesInBackwardStages,
    Recomputation,
)
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent, Rounds, search_in_rounds
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import ShareParams, WorkShare
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.solution import Progress as ModelProgress
from jettison.solvers.remat_graph.cuts.rows import CutRows, RowParams
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory


@dataclass(frozen=True, kw_only=True)
class RestrictedParams(RowParams, ShareParams):
    """Parameters of the restricted search.

    Attributes
    ----------
    most_columns
        Columns R and S of the largest model that is built.
    """

    most_columns: int = 50_000


RESTRICTED = RestrictedParams()


def solve_restricted(
    problem: RematGraph, options: SolveOptions, params: RestrictedParams = RESTRICTED
) -> Outcome:
    """Return the fastest restricted schedule, or the best found when the time is up.

    HiGHS begins from a given staged start, which is the answer if nothing faster is found.

    Returns
    -------
    Outcome
        Without a bound. Where no restricted schedule fits, the note says so; others may.
    """
    settled = too_little_memory(problem) or memory_for_everything(problem)
    if settled is not None:
        return settled
    if not any(node.backward for node in problem.instance.nodes):
        return Outcome.not_applicable(
            "no operation has the mark of the backward pass, in which this method computes forward "
            "operations again; use another method"
        )
    clock = Clock(options.time_limit_s)
    rounds = RestrictedRounds(problem, options, clock, params)
    with Ending() as ending:
        ending.termination = search_in_rounds(rounds, rounds.incumbent, clock)
    return rounds.outcome(ending.termination)


class RestrictedRounds(Rounds[WindowedModel]):
    """Rounds of models in which only forward operations are recomputed, in the backward pass.

    Parameters
    ----------
    problem, options, clock, params
        As for the method.
    recomputation
        What may be computed again.
    schedule_class
        The class of starts.

    Attributes
    ----------
    incumbent
        The fastest schedule that fits so far.
    """

    def __init__(
        self,
        problem: RematGraph,
        options: SolveOptions,
        clock: Clock,
        params: RestrictedParams,
        recomputation: Recomputation | None = None,
        schedule_class: ScheduleClass = ScheduleClass.STAGED,
    ) -> None:
        graph, memory_bytes = problem.instance, problem.memory_bytes
        self._recomputation = recomputation or ForwardNodesInBackwardStages()
        self.incumbent: Incumbent[GraphSchedule] = Incumbent(
            lambda schedule: schedule.replay(graph, memory_bytes),
            graph.base_time_ns,
            options,
            clock,
        )
        self._problem = problem
        self._options = options
        self._clock = clock
        self._params = params
        self._share = WorkShare(params.least_moves, params.times_all)
        stages = StageExcess(graph, memory_bytes, range(len(graph))).worst_stages()
        self._rows = CutRows(
            cuts={stages[0]},
            valid_for=ScheduleClass.STAGED,
            params=params,
        )
        if any(node.keep for node in graph.nodes):
            # Staged schedules compute nothing after the last node, so no window may follow it.
            self._rows.cuts.add(len(graph) - 1)
        boundary = self._recomputation.once_after(graph)
        if boundary is not None:
            self._rows.cuts.add(boundary)
        self.incumbent.begin_from(options.start, GraphSchedule, schedule_class)
        # A point of the first model, if it is a restricted schedule; HiGHS tells.
        self._given = self.incumbent.schedule
        self._start: Floats | None = None
        self._note = "no schedule was found before the end of the search"
        self._work = {"models": 0, "cuts": 0, "slots": 0, "columns": 0, "nodes": 0}

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best so far."""
        note = None if self.incumbent.schedule is not None else self._note
        return self.incumbent.outcome(termination, work=self._work, note=note)

    def build(self) -> WindowedModel | None:
        """Return the model of the cuts and slots so far."""
        frontier = WindowedFrontier(
            tuple(sorted(self._rows.cuts)),
            tuple(sorted(self._rows.slots)),
            ScheduleClass.STAGED,
            self._recomputation,
        )
        most = self._params.most_columns
        if frontier.num_columns(self._problem.instance) > most:
            self._note = f"a model of more than {most:,} columns was not built"
            return None
        return frontier.build(self._problem)

    def relax(self, model: WindowedModel) -> None:
        """Do nothing: the bound of a relaxation would hold for restricted schedules only."""

    def solve(self, model: WindowedModel) -> ModelSolution:
        """Solve a model, and keep schedules of its points that fit."""
        columns, done = model.model.num_columns, 0
        if self._given is not None:
            self._start, self._given = model.point(self._given.computations), None

        def count(progress: ModelProgress) -> None:
            nonlocal done
            assert progress.work is not None
            self._share.add(progress.work - done, columns)
            done = progress.work

        def look_at(values: Floats) -> None:
            self._look_at(model, values)

        solution = solve_in_time(
            model.model,
            replace(
                highs_options(self._options, self._clock, self._options.gap),
                work_limit=self._share.limit(columns),
                start=self._start,
            ),
            on_incumbent=look_at,
            on_work=count,
        )
        self._work["models"] += 1
        self._work["nodes"] += solution.nodes
        self._work["cuts"] = len(model.cuts)
        self._work["slots"] = sum(name.startswith("slot_") for name in model.model.row_names)
        self._work["columns"] = columns
        return solution

    def refine(self, model: WindowedModel, solution: ModelSolution) -> bool:
        """Add cuts and slots where a point exceeds the memory; tell if there are new ones."""
        self._start = solution.values
        if solution.values is None:
            return False
        excess = self._look_at(model, solution.values)
        if excess.is_none:
            return False
        self._start = None
        if self._rows.add_cuts(excess, {}) or self._rows.add_slots(excess, None):
            return True
        self._note = "what the solver found is over the limit by its tolerance"
        return False

    def no_point(self, model: WindowedModel) -> Termination:
        """Record that no restricted schedule fits; others may."""
        self._note = (
            "no schedule fits that computes forward operations again in the backward pass "
            "and nothing else; use another method"
        )
        return Termination.COMPLETED

    def nothing_to_add(self, solution: ModelSolution) -> Termination:
        """End the rounds as the last run ended."""
        return solution.termination

    def _look_at(self, model: WindowedModel, values: Floats) -> StageExcess:
        """Offer the schedule of a point if it fits, and return its excess."""
        computations = model.computations(values)
        excess = StageExcess(model.graph, self._problem.memory_bytes, computations)
        if excess.is_none:
            self.incumbent.offer(GraphSchedule.from_computations(model.graph, computations))
        return excess
