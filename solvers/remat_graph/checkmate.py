r"""checkmate: Checkmate's rematerialization ILP solved by HiGHS, its point made a schedule.

Exact among staged schedules. The model is in `jettison.formulations.remat_graph.checkmate`, its
source is Checkmate (Jain et al., MLSys 2020, Section 4) as KIWI, Appendix 7.1, has it.

From the solver to a schedule and a bound
-----------------------------------------
Only the columns :math:`R` of a point are read. They name the computations stage by stage;
`GraphSchedule.from_computations` leaves out values that are not read and frees as early as it can,
and the replay measures the result.

Time is a constant plus a multiple of the greatest common divisor of the durations, and so the
solver's dual bound, lowered by its tolerance, is rounded up to one (`IntegerScale`). A bound less
than half a divisor below a schedule thus proves it optimal.

A point may violate rows and integrality by a tolerance, 1e-9 here, in a model whose largest tensor
counts 1024; where sizes span more than eight orders of magnitude they are rounded down besides.
The schedule can then be some bytes above the limit. In that case the model is solved again for
less memory, each time by more than twice as much less, until the replay accepts the schedule. The
bound remains that of the first model: tolerance makes it weaker, not wrong.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.milp.watched_writing import Watch
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.formulations.remat_graph.checkmate_writer import CheckmateModel
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import WrittenModelParams, highs_options
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.solution import Progress as ModelProgress
from jettison.solvers.milp.tolerance import left_open
from jettison.solvers.remat_graph.least_memory import (
    LEAST_MEMORY,
    LeastMemoryParams,
    staged_memory_bound,
    with_least_staged_memory,
)
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory

CHECKMATE_LP = WrittenModelParams()


class Program(Protocol):
    """Program whose points are schedules of a step, all staged ones among them."""

    def build(self, problem: RematGraph, watch: Watch) -> CheckmateModel:
        """Build the model; `watch` may end that."""

    def estimated_coefficients(self, graph: Graph) -> int:
        """Return how many coefficients the model has, at most."""


def solve_checkmate(
    problem: RematGraph, options: SolveOptions, params: LeastMemoryParams = LEAST_MEMORY
) -> Outcome:
    """Find the fastest staged schedule, with a bound that holds for staged schedules.

    If there is none, the time that is left goes into the least memory in which there is one.
    Models of more coefficients (`Checkmate.estimated_coefficients`) than the parameters allow, and
    those that take longer to build than the time limit allows, are declined with a note.

    HiGHS begins from a staged start, unless the model is solved again for less memory.
    """
    return solve_program(problem, options, params, Checkmate(), "checkmate")


def solve_program(
    problem: RematGraph,
    options: SolveOptions,
    params: LeastMemoryParams,
    program: Program,
    method: str,
) -> Outcome:
    """Find the fastest schedule that a program knows, with its bound; as `solve_checkmate`."""
    clock = Clock(options.time_limit_s)
    too_large = declined(problem, options, params, program)
    refused = too_little_memory(problem)
    if refused is not None:
        return with_least_staged_memory(refused, problem, options, clock, params)
    settled = memory_for_everything(problem) or too_large
    return settled or _Search(problem, options, clock, program, method).outcome(params)


def bound_checkmate_lp(
    problem: RematGraph, options: SolveOptions, params: WrittenModelParams = CHECKMATE_LP
) -> Outcome:
    """Bound the time of staged schedules by the linear relaxation of the ILP; no schedule.

    Declines the models that `solve_checkmate` declines.
    """
    clock = Clock(options.time_limit_s)
    program = Checkmate()
    if problem.memory_bytes >= problem.instance.store_all_peak_bytes:
        # Storing everything is a point of the relaxation, and none has a negative objective.
        bound = replace(
            _bound("checkmate-lp", problem.instance.base_time_ns), evidence=Evidence.EXACT
        )
        return Outcome(termination=Termination.COMPLETED, bounds=(bound,))
    settled = too_little_memory(problem) or declined(problem, options, params, program)
    if settled is not None:
        return settled
    try:
        built, model = _written(problem, clock, program)
    except TimeoutError:
        return _unwritten(problem, program)
    solution = solve_in_time(model.relaxed(), highs_options(options, clock, gap=0))
    outcome = Outcome(termination=solution.termination, work=_work(model, solution))
    if solution.answer is Answer.INFEASIBLE:
        least_bytes = staged_memory_bound(
            problem.instance, _next_peak_bytes(built, problem), options, clock
        )
        return replace(
            outcome,
            infeasibility=Infeasibility(
                valid_for=ScheduleClass.STAGED,
                least_memory_bytes=least_bytes,
                is_exact=False,
                evidence=Evidence.SOLVER,
            ),
        )
    if solution.dual_bound is None:
        return replace(outcome, note="the linear relaxation was not solved to the end")
    bound = _bound("checkmate-lp", built.bound_ns(solution.dual_bound))
    return replace(outcome, bounds=(bound,))


def declined(
    problem: RematGraph, options: SolveOptions, params: WrittenModelParams, program: Program
) -> Outcome | None:
    """Return a refusal if the model is too large for this machine's memory or the time limit."""
    coefficients = program.estimated_coefficients(problem.instance)
    size = f"Checkmate's model of this graph has about {coefficients:,} coefficients"
    most = params.most_coefficients
    if coefficients > most:
        return Outcome(
            termination=Termination.MEMORY_LIMIT,
            note=f"{size}, more than the {most:,} that are tried; use another method",
        )
    seconds = coefficients * params.seconds_per_coefficient
    if options.time_limit_s is not None and seconds > options.time_limit_s:
        return Outcome(
            termination=Termination.TIME_LIMIT,
            note=f"{size}, which take {seconds:.0f} s to write down; allow several times as much, "
            "or use another method",
        )
    return None


def _written(
    problem: RematGraph, clock: Clock, program: Program
) -> tuple[CheckmateModel, ArrayModel]:
    """Build the model.

    Raises
    ------
    TimeoutError
        When the time is up.
    """
    built = program.build(problem, clock.require_time)
    return built, from_pulp(built.problem, clock.require_time).model


def _unwritten(problem: RematGraph, program: Program) -> Outcome:
    coefficients = program.estimated_coefficients(problem.instance)
    return Outcome(
        termination=Termination.TIME_LIMIT,
        note=f"Checkmate's model of this graph has about {coefficients:,} coefficients, and the "
        "time ended before it was written down; allow several times as much, or use another method",
    )


@dataclass(frozen=True, eq=False)
class _Solved:
    """Model with its solution."""

    built: CheckmateModel
    model: ArrayModel
    solution: ModelSolution

    def schedule(self) -> GraphSchedule | None:
        """Return the schedule that the best point stands for, if there is a point."""
        if self.solution.values is None:
            return None
        computations = self.built.computations(self.solution.by_name(self.model))
        return GraphSchedule.from_computations(self.built.graph, computations)


@dataclass(frozen=True, eq=False)
class _Search:
    """Search for the best schedule of a program's model, under the name of a method."""

    problem: RematGraph
    options: SolveOptions
    clock: Clock
    program: Program
    method: str

    def outcome(self, params: LeastMemoryParams) -> Outcome:
        problem, options, clock = self.problem, self.options, self.clock
        try:
            first = last = self._solved(problem, options)
        except TimeoutError:
            return _unwritten(problem, self.program)
        work = _work(first.model, first.solution)
        if first.solution.answer is Answer.INFEASIBLE:
            return replace(_infeasible(problem, first.built, options, clock, params), work=work)
        schedule = first.schedule()
        margin_bytes = 0
        while schedule is not None:
            peak_bytes = schedule.replay(problem.instance).peak_bytes
            if peak_bytes <= problem.memory_bytes:
                break
            schedule = None
            margin_bytes = 2 * margin_bytes + peak_bytes - problem.memory_bytes
            less_bytes = problem.memory_bytes - margin_bytes
            interrupted = last.solution.termination is Termination.INTERRUPTED
            if less_bytes >= problem.instance.least_peak_bound_bytes and not interrupted:
                # Bounds of a model with less memory do not hold for the problem and are dropped.
                less = RematGraph(problem.instance, less_bytes)
                try:
                    last = self._solved(less, options.quiet())
                except TimeoutError:
                    break
                schedule = last.schedule()

        outcome = Outcome(termination=last.solution.termination, schedule=schedule, work=work)
        if schedule is None:
            note = "no schedule was found before the end of the search"
            if margin_bytes:
                note = "what the solver found is over the limit by less than its tolerance"
            outcome = left_open(replace(outcome, note=note))
        if first.solution.dual_bound is None:
            return outcome
        bound = _bound(self.method, first.built.bound_ns(first.solution.dual_bound))
        outcome = replace(outcome, bounds=(bound,))
        if schedule is None:
            return outcome
        time_ns = schedule.replay(problem.instance).time_ns
        if time_ns <= bound.time_ns:
            return replace(outcome, termination=Termination.COMPLETED)
        if options.is_close_enough(time_ns, bound.time_ns, problem.instance.base_time_ns):
            return replace(outcome, termination=Termination.GAP_REACHED)
        return left_open(outcome)

    def _solved(self, problem: RematGraph, options: SolveOptions) -> _Solved:
        """Solve the model for this memory, to the gap between times that was asked for."""
        built, model = _written(problem, self.clock, self.program)
        base_ns = problem.instance.base_time_ns
        stop = threading.Event()
        close_enough = False

        def watch(progress: ModelProgress) -> None:
            nonlocal close_enough
            time_ns = bound_ns = None
            if progress.objective is not None:
                time_ns = built.time_ns(progress.objective)
            if progress.dual_bound is not None:
                bound_ns = built.bound_ns(progress.dual_bound)
            if options.on_progress is not None:
                options.on_progress(Progress(self.clock.seconds, time_ns, bound_ns))
            if time_ns is not None and bound_ns is not None:
                close_enough = options.is_close_enough(time_ns, bound_ns, base_ns)
            if close_enough:
                stop.set()

        # HiGHS measures the gap in its floating-point objective, `watch` in whole times.
        highs = replace(
            highs_options(options, self.clock, options.gap),
            start=_start_point(problem.instance, model, options.start),
        )
        solution = solve_in_time(model, highs, watch, stop=stop)
        if close_enough and solution.termination is Termination.INTERRUPTED:
            solution = replace(solution, termination=Termination.GAP_REACHED)
        return _Solved(built, model, solution)


def _start_point(graph: Graph, model: ArrayModel, start: Schedule | None) -> Floats | None:
    """Return the columns R of a staged start, the others NaN; None if it is not staged."""
    if not isinstance(start, GraphSchedule):
        return None
    if not ScheduleClass.STAGED.covers(start.replay(graph).schedule_class):
        return None
    computed: set[str] = set()
    stage = 0
    for node in start.computations:
        computed.add(f"R_{stage}_{node}")
        # The first computation of its own node is the last of a stage.
        stage += node == stage
    return np.array(
        [
            float(name in computed) if name.startswith("R_") else np.nan
            for name in model.column_names
        ]
    )


def _infeasible(
    problem: RematGraph,
    built: CheckmateModel,
    options: SolveOptions,
    clock: Clock,
    params: LeastMemoryParams,
) -> Outcome:
    """Return the proof that nothing fits, with the least memory if the time suffices."""
    proof = Infeasibility(
        valid_for=ScheduleClass.STAGED,
        least_memory_bytes=_next_peak_bytes(built, problem),
        is_exact=False,
        evidence=Evidence.SOLVER,
    )
    refused = Outcome(termination=Termination.COMPLETED, infeasibility=proof)
    return with_least_staged_memory(refused, problem, options, clock, params)


def _next_peak_bytes(built: CheckmateModel, problem: RematGraph) -> int:
    """Return the least number of bytes above the memory of the problem that a peak can have."""
    unit = built.memory_scale.unit
    return (problem.memory_bytes // unit + 1) * unit


def _bound(method: str, time_ns: int) -> Bound:
    return Bound(
        time_ns=time_ns,
        valid_for=ScheduleClass.STAGED,
        evidence=Evidence.SOLVER,
        method=method,
    )


def _work(model: ArrayModel, solution: ModelSolution) -> dict[str, int]:
    return {
        "rows": model.num_rows,
        "columns": model.num_columns,
        "coefficients": model.num_nonzeros,
        "nodes": solution.nodes,
    }
