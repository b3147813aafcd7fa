r"""The best schedule that repeats forward operations in the backward pass, and nothing else.

The model is `formulations.restricted`, solved by HiGHS. It is built without slots, so that the
memory of recomputations is not counted; the schedule of each better point is replayed, and what
fits is kept. Where the schedule of the last point exceeds the memory, its slots become rows, and
the model is solved again: no more often than there are slots. If the schedule of an optimal point
fits, none of the restricted staged schedules is faster. A bound for the problem is not among the
results, for other schedules can be faster.

The restriction is that of Checkmate's baselines and of checkpointing as frameworks offer it: the
forward pass is left as it is. Graphs without operations of the backward pass have nothing to
repeat. Models of more than 150 000 binaries (graphs of about 500 nodes) are declined.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.formulations.array_model import Floats
from jettison.formulations.restricted import ChosenSlots, Restricted
from jettison.formulations.staged_model import StagedModel
from jettison.instances.graph import Graph
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.checkmate_highs import highs_options
from jettison.solvers.clock import Clock
from jettison.solvers.graph_memory_floor import memory_for_everything, too_little_memory
from jettison.solvers.highs_in_time import solve_in_time
from jettison.solvers.model_solution import ModelSolution
from jettison.solvers.outcome import Outcome, Problem, Progress, SolveOptions
from jettison.solvers.stage_excess import Slot, StageExcess
from jettison.solvers.status import Answer, Termination

_MOST_BINARIES = 150_000
_NEW_SLOTS = 200
# The rest of the time is for models with the slots that the first one lacks.
_SHARE_OF_A_RUN = 0.8


def solve_restricted(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the fastest restricted schedule, or the best found when the time is up.

    Returns
    -------
    Outcome
        Without a bound. Where the model has no point, the note says so; other schedules may fit.
    """
    assert isinstance(problem, RematGraph)
    settled = (
        too_little_memory(problem) or memory_for_everything(problem) or _declined(problem.instance)
    )
    if settled is not None:
        return settled
    search = _Search(problem, options)
    try:
        termination = search.run()
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    return search.outcome(termination)


class _Search:
    """The models, one after the other, and the fastest schedule that fits so far."""

    def __init__(self, problem: RematGraph, options: SolveOptions) -> None:
        self._problem = problem
        self._options = options
        self._clock = Clock(options.time_limit_s)
        self._best: tuple[int, GraphSchedule] | None = None
        self._note = "no schedule was found before the end of the search"
        self._work = {"models": 0, "slots": 0, "columns": 0, "nodes": 0}

    def outcome(self, termination: Termination) -> Outcome:
        if self._best is None:
            return Outcome(termination=termination, work=self._work, note=self._note)
        return Outcome(termination=termination, schedule=self._best[1], work=self._work)

    def run(self) -> Termination:
        """Solve with more and more slots until the schedule of the last point fits."""
        slots: set[Slot] = set()
        while self._clock.left_s:
            built = Restricted(ChosenSlots(tuple(sorted(slots)))).build(self._problem)
            solution = self._solve(built, len(slots))
            if solution.answer is Answer.INFEASIBLE:
                self._note = (
                    "no schedule fits that computes forward operations again in the backward pass "
                    "and nothing else; use another method"
                )
                return Termination.COMPLETED
            if solution.values is None or solution.termination is Termination.INTERRUPTED:
                return solution.termination
            excess = self._look_at(built, solution.values)
            new_slots = excess.new_slots(slots, _NEW_SLOTS)
            if excess.is_none or not new_slots:
                if not excess.is_none:
                    self._note = "what the solver found is over the limit by its tolerance"
                return solution.termination
            slots.update(new_slots)
        return Termination.TIME_LIMIT

    def _solve(self, built: StagedModel, num_slots: int) -> ModelSolution:
        def look_at(values: Floats) -> None:
            self._look_at(built, values)

        options = highs_options(self._options, self._clock, self._options.gap)
        seconds = self._clock.left_s * _SHARE_OF_A_RUN
        solution = solve_in_time(built.model, replace(options, time_limit_s=seconds), look_at)
        self._work["models"] += 1
        self._work["nodes"] += solution.nodes
        self._work["slots"] = num_slots
        self._work["columns"] = built.model.num_columns
        return solution

    def _look_at(self, built: StagedModel, values: Floats) -> StageExcess:
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


def _declined(graph: Graph) -> Outcome | None:
    """Decline a graph in which nothing may be computed again, or whose model is too large."""
    backward = [node.backward for node in graph.nodes]
    if not any(backward):
        return Outcome(
            termination=Termination.COMPLETED,
            note="no operation is marked as one of the backward pass, in which this method "
            "computes forward operations again; use another method",
        )
    # The product is an upper bound on the columns R, and quick where counting is not.
    most = sum(backward) * (len(graph) - sum(backward))
    binaries = most if most > _MOST_BINARIES else Restricted().num_binaries(graph)
    if binaries <= _MOST_BINARIES:
        return None
    return Outcome(
        termination=Termination.MEMORY_LIMIT,
        note=f"the restricted model of this graph has up to {binaries:,} binaries, more than the "
        f"{_MOST_BINARIES:,} that are tried; use another method",
    )
