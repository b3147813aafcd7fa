r"""The best schedule that repeats forward operations in the backward pass, and nothing else.

The restriction is that of checkpointing as frameworks offer it: the forward pass is left as it is,
and no backward operation is repeated (`Restricted` in `formulations.window_presets` is the model in
full). Its optimum is the time of a schedule, and so an upper bound on that of all. Most of the
columns of the full model decide nothing. So it is solved as `exact_method` solves the problem
without the restriction, by windows between few cuts (`formulations.windowed_frontier`), in which
only what is permitted may be computed again:

1. The first cut is where the step without recomputation needs most memory.
2. The best point becomes a schedule, which is replayed. Where first computations exceed the memory,
   their stages become cuts; where only recomputations do, slots become rows.
3. When the schedule of an optimal point fits, no restricted staged schedule is faster.

All cuts and slots together are the full model, so the rounds end. What fits on the way is kept. No
bound is handed out, since the model's holds for restricted schedules only. Graphs without
operations of the backward pass have nothing to repeat, and models of more than 50 000 columns R and
S are not built.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_graph.recomputation import ForwardNodesInBackwardStages
from jettison.formulations.remat_graph.windows.built import WindowedModel
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import run_to_its_end
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts.stage_excess import Slot, StageExcess, cuts_beside
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory

_MOST_COLUMNS = 50_000
_NEW_CUTS = 2
_NEW_SLOTS = 8
# Of the time that is left, for one model; the next ones need some as well.
_SHARE_OF_A_RUN = 0.5


def solve_restricted(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest restricted schedule, or the best found when the time is up.

    Returns
    -------
    Outcome
        Without a bound. Where no restricted schedule fits, the note says so; others may.
    """
    settled = too_little_memory(problem) or memory_for_everything(problem)
    if settled is not None:
        return settled
    if not any(node.backward for node in problem.instance.nodes):
        return Outcome(
            termination=Termination.COMPLETED,
            note="no operation has the mark of the backward pass, in which this method computes "
            "forward operations again; use another method",
        )
    search = _Search(problem, options)
    termination = run_to_its_end(search.run)
    return search.outcome(termination)


class _Search:
    """The rounds, and the fastest schedule that fits so far."""

    def __init__(self, problem: RematGraph, options: SolveOptions) -> None:
        self._problem = problem
        self._options = options
        self._clock = Clock(options.time_limit_s)
        self._best: tuple[int, GraphSchedule] | None = None
        self._note = "no schedule was found before the end of the search"
        self._work = {"models": 0, "cuts": 0, "slots": 0, "columns": 0, "nodes": 0}

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best so far."""
        if self._best is None:
            return Outcome(termination=termination, work=self._work, note=self._note)
        return Outcome(termination=termination, schedule=self._best[1], work=self._work)

    def run(self) -> Termination:
        """Add cuts and slots until the schedule of the last point fits."""
        graph = self._problem.instance
        stages = StageExcess(graph, self._problem.memory_bytes, range(len(graph))).worst_stages()
        cuts = {stages[0]}
        if any(node.keep for node in graph.nodes):
            # Staged schedules compute nothing after the last node; a window that ends there would.
            cuts.add(len(graph) - 1)
        slots: set[Slot] = set()
        start: Floats | None = None
        while self._clock.left_s:
            frontier = WindowedFrontier(
                tuple(sorted(cuts)),
                tuple(sorted(slots)),
                ScheduleClass.STAGED,
                ForwardNodesInBackwardStages(),
            )
            if frontier.num_columns(graph) > _MOST_COLUMNS:
                self._note = f"a model of more than {_MOST_COLUMNS:,} columns was not built"
                return Termination.MEMORY_LIMIT
            built = frontier.build(self._problem)
            solution = self._solve(built, start)
            if solution.answer is Answer.INFEASIBLE:
                self._note = (
                    "no schedule fits that computes forward operations again in the backward pass "
                    "and nothing else; use another method"
                )
                return Termination.COMPLETED
            if solution.values is None or solution.termination is Termination.INTERRUPTED:
                return solution.termination
            excess = self._look_at(built, solution.values)
            if excess.is_none:
                if solution.termination is not Termination.TIME_LIMIT or start is not None:
                    return solution.termination
                start = solution.values
                continue
            start = None
            new_cuts = excess.new_cuts(cuts, _NEW_CUTS)
            new_slots = [] if new_cuts else excess.new_slots(slots, _NEW_SLOTS)
            if not new_cuts and not new_slots:
                self._note = "what the solver found is over the limit by its tolerance"
                return solution.termination
            cuts.update(new_cuts)
            slots.update(new_slots)
            cuts.update(cuts_beside(new_slots))
        return Termination.TIME_LIMIT

    def _solve(self, built: WindowedModel, start: Floats | None) -> ModelSolution:
        """Solve a model in a share of the time, or in all that is left where a start fits."""

        def look_at(values: Floats) -> None:
            self._look_at(built, values)

        options = highs_options(self._options, self._clock, self._options.gap)
        seconds = self._clock.left_s * (_SHARE_OF_A_RUN if start is None else 1)
        options = replace(options, time_limit_s=seconds, start=start)
        solution = solve_in_time(built.model, options, on_incumbent=look_at)
        slots = sum(name.startswith("slot_") for name in built.model.row_names)
        self._work["models"] += 1
        self._work["nodes"] += solution.nodes
        self._work["cuts"] = len(built.cuts)
        self._work["slots"] = slots
        self._work["columns"] = built.model.num_columns
        return solution

    def _look_at(self, built: WindowedModel, values: Floats) -> StageExcess:
        """Replay the schedule of a point, and keep it if it fits and is faster."""
        graph = built.graph
        computations = built.computations(values)
        excess = StageExcess(graph, self._problem.memory_bytes, computations)
        if excess.is_none:
            schedule = GraphSchedule.from_computations(graph, computations)
            time_ns = schedule.replay(graph).time_ns
            if self._best is None or time_ns < self._best[0]:
                self._best = (time_ns, schedule)
                if self._options.on_progress is not None:
                    self._options.on_progress(Progress(self._clock.seconds, time_ns, None))
        return excess
