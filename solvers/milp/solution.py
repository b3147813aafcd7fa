"""Solution of an array model, and the progress of a run towards it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.solvers.core.status import Answer, SolverError, Termination

# HiGHS treats floating-point numbers as equal within this: its absolute gap, and the rounding of a
# sum of large terms.
_SAME_ABSOLUTE = 1e-6
_SAME_RELATIVE = 1e-9


def relative_gap(objective: float | None, dual_bound: float | None) -> float | None:
    """Return the gap as HiGHS defines it: ``|objective - dual_bound| / |objective|``.

    It is None where one of the two is not known, and infinite at an objective of 0 that the bound
    does not meet.
    """
    if objective is None or dual_bound is None:
        return None
    distance = max(0.0, objective - dual_bound)
    if distance == 0:
        return 0.0
    return distance / abs(objective) if objective else math.inf


def answer_of(objective: float | None, dual_bound: float | None) -> Answer:
    """Return the answer that an objective and a bound prove: optimal only if the bound meets it."""
    if objective is None:
        return Answer.UNKNOWN
    same = max(_SAME_ABSOLUTE, _SAME_RELATIVE * abs(objective))
    if dual_bound is not None and objective - dual_bound <= same:
        return Answer.OPTIMAL
    return Answer.FEASIBLE


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run at one moment.

    Attributes
    ----------
    seconds
        Wall-clock time since the run began.
    objective
        Objective of the best point so far; None before the first.
    dual_bound
        The best proven lower bound so far; None before the first.
    nodes
        Branch-and-bound nodes so far.
    work
        What was done so far, as `jettison.solvers.milp.highs_work` counts it; None where the report
        came by the clock.
    """

    seconds: float
    objective: float | None
    dual_bound: float | None
    nodes: int
    work: int | None = None

    @property
    def gap(self) -> float | None:
        """See `relative_gap`."""
        return relative_gap(self.objective, self.dual_bound)


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelSolution:
    """Solution of an `ArrayModel`: the outcome of a run.

    Attributes
    ----------
    termination, answer
        Whether the run stopped well, and what is known. `answer` is optimal only where the bound
        meets the objective; a run that stops at a gap it was allowed to leave is feasible.
    objective
        Objective at `values`, offset included; None without them.
    dual_bound
        Proven lower bound on the objective, in floating point; None if there is none.
    values
        The best point, shape (n,), integer columns rounded; None where no point is feasible, none
        was found, or none is best (unbounded).
    row_duals, reduced_costs
        For a linear program with an optimal basis, shapes (m,) and (n,), positive where a lower
        limit holds the objective up; None otherwise.
    nodes
        Branch-and-bound nodes.
    work
        What was done, as `jettison.solvers.milp.highs_work` counts it; 0 where the run was killed.
    seconds
        Wall-clock time.
    trace
        The run's progress, in order.
    """

    termination: Termination
    answer: Answer
    objective: float | None = None
    dual_bound: float | None = None
    values: Floats | None = None
    row_duals: Floats | None = None
    reduced_costs: Floats | None = None
    nodes: int = 0
    work: int = 0
    seconds: float
    trace: tuple[Progress, ...] = ()

    @property
    def gap(self) -> float | None:
        """See `relative_gap`."""
        return relative_gap(self.objective, self.dual_bound)

    def by_name(self, model: ArrayModel) -> dict[str, float]:
        """Return the value of each column by its name in `model`, the model that was solved.

        Raises
        ------
        SolverError
            If there are no values to read.
        """
        if self.values is None:
            raise SolverError(
                f"there are no values to read: the run ended with {self.termination} and the "
                f"answer is {self.answer}; check the answer first"
            )
        return dict(zip(model.column_names, self.values.tolist(), strict=True))


def with_integers_rounded(model: ArrayModel, values: Floats, tolerance: float) -> Floats:
    """Return `values` with integer columns rounded to the nearest integer, never cut off.

    A value further than `tolerance` from every integer is left as it is, for a replay to object to.
    """
    nearest = np.rint(values)
    exact = model.integer & (np.abs(values - nearest) <= tolerance)
    # Adding zero turns -0.0 into 0.0.
    return np.where(exact, nearest, values) + 0.0


class RunRecord:
    """Record of a run, from which a solution can be made when the run is cut short.

    Parameters
    ----------
    model
        The model being solved.
    on_progress, on_incumbent, on_work
        Called with each new progress, with the values of each better point, and with each progress
        that comes by the work done.
    """

    def __init__(
        self,
        model: ArrayModel,
        on_progress: Callable[[Progress], None] | None = None,
        on_incumbent: Callable[[Floats], None] | None = None,
        on_work: Callable[[Progress], None] | None = None,
    ) -> None:
        self.model = model
        self.values: Floats | None = None
        self.trace: list[Progress] = []
        self._on_progress = on_progress
        self._on_incumbent = on_incumbent
        self._on_work = on_work

    def add_progress(self, progress: Progress) -> None:
        """Record a progress; the dual bound never falls, since an earlier one stays valid.

        A progress that comes by the work done is passed on unchanged: it must not contain what came
        by the clock before.
        """
        if progress.work is not None:
            if self._on_work is not None:
                self._on_work(progress)
            return
        if self.trace:
            bounds = (self.trace[-1].dual_bound, progress.dual_bound)
            best = max((bound for bound in bounds if bound is not None), default=None)
            progress = Progress(progress.seconds, progress.objective, best, progress.nodes)
        self.trace.append(progress)
        if self._on_progress is not None:
            self._on_progress(progress)

    def add_incumbent(self, values: Floats) -> None:
        """Record a better point."""
        self.values = values
        if self._on_incumbent is not None:
            self._on_incumbent(values)

    def as_solution(self, termination: Termination, seconds: float) -> ModelSolution:
        """Return the solution that the record so far proves."""
        last = self.trace[-1] if self.trace else Progress(0.0, None, None, 0)
        objective = None if self.values is None else self.model.objective_value(self.values)
        return ModelSolution(
            termination=termination,
            answer=answer_of(objective, last.dual_bound),
            objective=objective,
            dual_bound=last.dual_bound,
            values=self.values,
            nodes=last.nodes,
            seconds=seconds,
            trace=tuple(self.trace),
        )
