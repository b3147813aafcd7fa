"""Run of HiGHS, the engine that solves every model of jettison.

Every model comes here as an `ArrayModel`, whichever library wrote it, and the outcome is read from
HiGHS itself: its model status, its primal solution status, its dual bound.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import lazy_loader as lazy
import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.quiet_highs import quiet_highs
from jettison.solvers.core.solver_versions import note_solver
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp.highs_known_answer import require_sound_highs
from jettison.solvers.milp.highs_options import HighsOptions, IntegerSearch, LinearAlgorithm
from jettison.solvers.milp.highs_work import HighsWork
from jettison.solvers.milp.solution import (
    ModelSolution,
    Progress,
    RunRecord,
    answer_of,
    with_integers_rounded,
)

highspy = lazy.load("highspy")

__all__ = ["HighsOptions", "ModelSolution", "Progress", "solve_model"]

# Node limit of HiGHS itself for completing a start.
_NODES_FOR_A_START = 500
_SECONDS_BETWEEN_LOGS = 0.5
# Tolerance of HiGHS for integer columns unless `feasibility_tolerance` sets another.
_INTEGRALITY_TOLERANCE = 1e-6


def solve_model(
    model: ArrayModel,
    options: HighsOptions | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    on_incumbent: Callable[[Floats], None] | None = None,
    on_work: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
) -> ModelSolution:
    """Solve `model` with HiGHS.

    Ctrl-C ends the run with the best point so far. The termination is ``interrupted`` even where
    HiGHS ended before it heard of it. It hears of it at its next check, which a long presolve or
    root relaxation can put off. A second Ctrl-C raises ``KeyboardInterrupt`` at once.

    Parameters
    ----------
    model
        The model; with or without integer columns.
    options
        How to run; None for the defaults.
    on_progress
        Called in the calling thread about twice a second while an integer model is solved, and at
        each better point. What it raises ends the run and is passed on.
    on_incumbent
        Called in the calling thread with the values of each better point, shape (n,).
    on_work
        Called in the calling thread, beside the run, whenever some more work was done
        (`highs_work`): at the same points and with the same bounds on every machine.
    stop
        Set it, from any thread, to end the run as Ctrl-C does.

    Raises
    ------
    InputError
        If the start does not fit the model.
    SolverError
        If HiGHS refuses an option or the model, or fails without saying what is known.
    UnsoundSolverError
        If the installed HiGHS is one that gives wrong answers.
    """
    options = options or HighsOptions()
    started = time.perf_counter()
    start = options.start_for(model)
    if model.num_columns == 0:
        return _without_columns(model, time.perf_counter() - started)
    record = RunRecord(model, on_progress, on_incumbent, on_work)
    run = _Run(model, options, start, started, threading.Event() if stop is None else stop)
    # HiGHS keeps its pool of threads, and with it the number of threads, per calling thread: a
    # second run with another number fails in the same thread, so every run gets a thread of its
    # own. It also leaves this thread free to hear Ctrl-C.
    worker = threading.Thread(target=run.work, name="highs", daemon=True)
    is_interrupted = False
    try:
        worker.start()
        ending = run.listen(record)
    except KeyboardInterrupt:
        run.stop.set()
        if worker.ident is None:
            # It has not begun, and ends at once if it does.
            raise
        is_interrupted = True
        ending = run.listen(record)
    except BaseException:
        run.stop.set()
        run.listen(RunRecord(model))
        raise
    if isinstance(ending, MemoryError):
        return record.as_solution(Termination.MEMORY_LIMIT, time.perf_counter() - started)
    if isinstance(ending, BaseException):
        raise ending
    solution = _read_solution(model, options, ending, record, time.perf_counter() - started)
    solution = replace(solution, work=run.effort.done)
    if is_interrupted:
        # HiGHS may have ended before it heard of it; the caller must hear of it all the same.
        return replace(solution, termination=Termination.INTERRUPTED)
    if run.effort.is_over and solution.termination is Termination.INTERRUPTED:
        return replace(solution, termination=Termination.WORK_LIMIT)
    return solution


@dataclass(frozen=True, eq=False)
class _Ending:
    """State of HiGHS at the end of a run."""

    status: Any
    info: Any
    solution: Any


class _Run:
    """Run of HiGHS in a thread of its own, with the queue through which it reports."""

    def __init__(
        self,
        model: ArrayModel,
        options: HighsOptions,
        start: Floats | None,
        started: float,
        stop: threading.Event,
    ) -> None:
        self.options = options
        self.start = start
        self.started = started
        self.stop = stop
        self.lp = model.to_highs_lp()
        self.model = model
        self.effort = HighsWork(options.work_limit)
        self._reports: SimpleQueue[Progress | Floats | None] = SimpleQueue()
        self._ending: _Ending | BaseException | None = None
        note_solver("highspy")

    def listen(self, record: RunRecord) -> _Ending | BaseException:
        """Pass the run's reports on to `record` until it ends, and return its end.

        It can be called again when an exception, such as Ctrl-C, left it early.
        """
        while self._ending is None or not self._reports.empty():
            report = self._reports.get()
            if isinstance(report, Progress):
                record.add_progress(report)
            elif report is not None:
                record.add_incumbent(report)
        return self._ending

    def work(self) -> None:
        """Run HiGHS, and report its end, whatever it is."""
        ending: _Ending | BaseException
        try:
            ending = self._solve()
        except BaseException as error:
            ending = error
        # End the threads of HiGHS: a process that forks while they exist hangs.
        highspy.Highs.resetGlobalScheduler(True)
        self._ending = ending
        self._reports.put(None)

    def _solve(self) -> _Ending:
        require_sound_highs()
        self._complete_start()
        highs = self._prepared_highs()
        highs.cbMipLogging.subscribe(self._report_progress)
        highs.cbMipImprovingSolution.subscribe(self._report_incumbent)
        ending = _run(highs)
        if ending.status != highspy.HighsModelStatus.kUnboundedOrInfeasible:
            return ending
        # Presolve stops as soon as it finds that a model is either infeasible or unbounded. Without
        # an objective it cannot be unbounded, so that a second run tells which.
        self.lp.col_cost_ = np.zeros(self.model.num_columns)
        status = _run(self._prepared_highs()).status
        if status == highspy.HighsModelStatus.kOptimal:
            status = highspy.HighsModelStatus.kUnbounded
        return _Ending(status, ending.info, ending.solution)

    def _complete_start(self) -> None:
        """Complete the start's open integers; drop the start where that fails.

        HiGHS would complete it in a model in which the other integers are fixed, and report the
        bound of that model as if it were one of this model.
        """
        start, model = self.start, self.model
        if start is None or not np.isnan(start[model.integer]).any():
            return
        known = ~np.isnan(start)
        self.start = None
        if not known[model.integer].any():
            return
        self.lp.col_lower_ = np.where(known, start, model.column_lower)
        self.lp.col_upper_ = np.where(known, start, model.column_upper)
        highs = self._prepared_highs()
        _set_option(highs, "mip_max_nodes", _NODES_FOR_A_START)
        ending = _run(highs)
        if ending.info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            self.start = np.array(ending.solution.col_value, dtype=float)
        self.lp.col_lower_, self.lp.col_upper_ = model.column_lower, model.column_upper

    def _prepared_highs(self) -> Any:
        # A new Highs for each run: the clock of an old one runs on, and its time limit with it.
        # It keeps output_flag, without which the callbacks that carry the bound are silent as well.
        highs = quiet_highs()
        _set_option(highs, "mip_min_logging_interval", _SECONDS_BETWEEN_LOGS)
        _set_option(highs, "mip_rel_gap", self.options.gap)
        _set_option(highs, "threads", self.options.threads)
        _set_option(highs, "random_seed", self.options.seed)
        if self.options.time_limit_s is not None:
            passed = time.perf_counter() - self.started
            _set_option(highs, "time_limit", max(0.0, self.options.time_limit_s - passed))
        algorithm = self.options.linear_algorithm
        if algorithm is not LinearAlgorithm.CHOOSE and not self.model.integer.any():
            _set_option(highs, "solver", "ipm")
            on = algorithm is LinearAlgorithm.CROSSOVER
            _set_option(highs, "run_crossover", "on" if on else "off")
        if self.options.integer_search is IntegerSearch.PROVE:
            _set_option(highs, "mip_heuristic_effort", 0.0)
            # Limit on the cutting planes that are kept beside those in the relaxation.
            _set_option(highs, "mip_pool_soft_limit", 1)
        if self.options.node_limit is not None:
            _set_option(highs, "mip_max_nodes", self.options.node_limit)
        if self.options.feasibility_tolerance is not None:
            for name in ("primal_feasibility_tolerance", "mip_feasibility_tolerance"):
                _set_option(highs, name, self.options.feasibility_tolerance)
        # A warning is about a lower limit above its upper one; ArrayModel rules the others out.
        if highs.passModel(self.lp) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refuses the model")
        if self.start is not None:
            known = np.flatnonzero(~np.isnan(self.start)).astype(np.int32)
            if highs.setSolution(len(known), known, self.start[known]) != highspy.HighsStatus.kOk:
                raise SolverError("HiGHS refuses the start")
        highs.cbMipInterrupt.subscribe(self._count_check)
        highs.cbSimplexInterrupt.subscribe(self._count_iteration)
        highs.cbIpmInterrupt.subscribe(self._interrupt_if_asked)
        return highs

    def _report_progress(self, event: Any) -> None:
        seen = event.data_out
        self._reports.put(
            Progress(
                time.perf_counter() - self.started,
                _finite(seen.mip_primal_bound),
                _finite(seen.mip_dual_bound),
                max(0, int(seen.mip_node_count)),
            )
        )

    def _report_incumbent(self, event: Any) -> None:
        values = np.array(event.data_out.mip_solution, dtype=float)
        self._reports.put(with_integers_rounded(self.model, values, _tolerance(self.options)))

    def _count_check(self, event: Any) -> None:
        seen = event.data_out
        nodes = max(0, int(seen.mip_node_count))
        if self.effort.checked(nodes):
            self._report_work(_finite(seen.mip_primal_bound), _finite(seen.mip_dual_bound), nodes)
        self._interrupt_if_asked(event)

    def _count_iteration(self, event: Any) -> None:
        if self.effort.iterated():
            self._report_work(None, None, 0)
        self._interrupt_if_asked(event)

    def _report_work(self, objective: float | None, dual_bound: float | None, nodes: int) -> None:
        seconds = time.perf_counter() - self.started
        self._reports.put(Progress(seconds, objective, dual_bound, nodes, self.effort.done))

    def _interrupt_if_asked(self, event: Any) -> None:
        if self.stop.is_set() or self.effort.is_over:
            event.interrupt()


def _run(highs: Any) -> _Ending:
    outcome = highs.run()
    status = highs.getModelStatus()
    if outcome == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS fails: {highs.modelStatusToString(status)}")
    return _Ending(status, highs.getInfo(), highs.getSolution())


def _read_solution(
    model: ArrayModel, options: HighsOptions, ending: _Ending, record: RunRecord, seconds: float
) -> ModelSolution:
    """Return the solution that the state of HiGHS proves."""
    status = highspy.HighsModelStatus
    info = ending.info
    nodes = max(0, int(info.mip_node_count))
    if ending.status in {status.kInfeasible, status.kUnbounded}:
        return ModelSolution(
            termination=Termination.COMPLETED,
            answer=Answer.INFEASIBLE if ending.status == status.kInfeasible else Answer.UNBOUNDED,
            nodes=nodes,
            seconds=seconds,
            trace=tuple(record.trace),
        )
    values = objective = dual_bound = row_duals = reduced_costs = None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = with_integers_rounded(
            model, np.array(ending.solution.col_value, dtype=float), _tolerance(options)
        )
        objective = model.objective_value(values)
    if model.integer.any():
        dual_bound = _finite(info.mip_dual_bound)
    elif ending.status == status.kOptimal:
        # An optimal basis is its own bound: the dual objective equals the primal one. A point from
        # the interior has no basis.
        if options.linear_algorithm is LinearAlgorithm.CHOOSE:
            dual_bound = objective
        row_duals = np.array(ending.solution.row_dual, dtype=float)
        reduced_costs = np.array(ending.solution.col_dual, dtype=float)
    record.add_progress(Progress(seconds, objective, dual_bound, nodes))
    dual_bound = record.trace[-1].dual_bound
    termination = {
        status.kOptimal: Termination.COMPLETED,
        status.kTimeLimit: Termination.TIME_LIMIT,
        status.kSolutionLimit: Termination.NODE_LIMIT,
        status.kMemoryLimit: Termination.MEMORY_LIMIT,
        status.kInterrupt: Termination.INTERRUPTED,
    }.get(ending.status, Termination.ERROR)
    answer = answer_of(objective, dual_bound)
    if termination == Termination.COMPLETED and answer != Answer.OPTIMAL:
        termination = Termination.ERROR if values is None else Termination.GAP_REACHED
    return ModelSolution(
        termination=termination,
        answer=answer,
        objective=objective,
        dual_bound=dual_bound,
        values=values,
        row_duals=row_duals,
        reduced_costs=reduced_costs,
        nodes=nodes,
        seconds=seconds,
        trace=tuple(record.trace),
    )


def _without_columns(model: ArrayModel, seconds: float) -> ModelSolution:
    """Return the solution of a model without columns, whose rows HiGHS does not check."""
    if ((model.row_lower > 0) | (model.row_upper < 0)).any():
        return ModelSolution(
            termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=seconds
        )
    return ModelSolution(
        termination=Termination.COMPLETED,
        answer=Answer.OPTIMAL,
        objective=model.offset,
        dual_bound=model.offset,
        values=np.zeros(0),
        seconds=seconds,
    )


def _set_option(highs: Any, name: str, value: bool | int | float | str) -> None:
    if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
        raise SolverError(f"HiGHS refuses the option {name} = {value!r}")


def _tolerance(options: HighsOptions) -> float:
    return options.feasibility_tolerance or _INTEGRALITY_TOLERANCE


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
