r"""Lower bound for training several models: over all divisions, from a bound for each unit.

A schedule divides the models into units; its time is the sum of their times, and so at least the
least sum of the units' bounds over all divisions (`units`). The bound of a unit starts at the time
of its operators. The bounds in the division of least sum are raised, by the relaxation first, then
by the model with binaries once all of them have been relaxed, until none of them can be raised. The
least sum is a lower bound at any time.
"""

from __future__ import annotations

from jettison.formulations.multi_model.bound.model import MultiModelUnitBound
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.multi_model.bound.unit import UNIT_BOUND, UnitBound, UnitBoundParams
from jettison.solvers.multi_model.least_division import (
    Sizes,
    best_division,
    units_that_fit,
)
from jettison.solvers.multi_model.least_memory import multi_model_infeasibility


def bound_multi_model(
    problem: MultiModelTraining, options: SolveOptions, params: UnitBoundParams = UNIT_BOUND
) -> Outcome:
    """Bound the iteration time; at the time limit and on Ctrl-C by what has been proved.

    Returns
    -------
    Outcome
        A bound in exact arithmetic, and a better one that rests on the solver if there is one; or
        the proof that nothing fits.
    """
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    bounds = DivisionBound(problem, options, Clock(options.time_limit_s), params)
    note = None
    with Ending() as ending:
        try:
            ending.termination = bounds.run()
        except SolverError as failed:
            ending.termination, note = Termination.ERROR, str(failed)
    return Outcome(
        termination=ending.termination, bounds=bounds.proved("bound"), work=bounds.work, note=note
    )


class DivisionBound:
    """Lower bounds of all units, raised in the division of least sum.

    Parameters
    ----------
    problem
        A problem that is feasible.
    options
        Limits.
    clock
        The time that is left.
    params
        Which models are solved with their binaries.
    """

    def __init__(
        self,
        problem: MultiModelTraining,
        options: SolveOptions,
        clock: Clock,
        params: UnitBoundParams = UNIT_BOUND,
    ) -> None:
        self._params = params
        self._problem = problem
        self._options = options
        self._clock = clock
        self._formulation = MultiModelUnitBound()
        self.units = {
            sizes: UnitBound.of_operators(problem, sizes) for sizes in units_that_fit(problem)
        }

    @property
    def exact_ns(self) -> int:
        """The bound that is proved in exact arithmetic."""
        return self._value({sizes: bound.exact_ns for sizes, bound in self.units.items()})

    @property
    def solver_ns(self) -> int:
        """The bound that rests on the solver."""
        return self._value({sizes: bound.solver_ns for sizes, bound in self.units.items()})

    @property
    def work(self) -> dict[str, int]:
        """The number of units whose bound was raised, and the nodes of all models."""
        bounds = self.units.values()
        return {
            "units": len(bounds),
            "relaxed": sum(bound.built is not None for bound in bounds),
            "nodes": sum(bound.nodes for bound in bounds),
        }

    def run(self) -> Termination:
        """Raise bounds until none in the division of least sum can be raised."""
        while self._clock.left_s:
            values = {sizes: bound.solver_ns for sizes, bound in self.units.items()}
            division = best_division(self._problem.counts, values)
            assert division is not None
            if self._options.on_progress is not None:
                self._options.on_progress(Progress(self._clock.seconds, None, division.value))
            best = [self.units[sizes] for sizes in dict.fromkeys(division.units)]
            termination = Termination.COMPLETED
            if waiting := [bound for bound in best if not bound.is_relaxed]:
                termination = self.relax(waiting[0].sizes)
            elif waiting := [bound for bound in best if not bound.is_solved]:
                termination = waiting[0].solve(self._options, self._clock)
            else:
                return Termination.COMPLETED
            if self._options.on_bound is not None:
                for bound in self.proved("bound"):
                    self._options.on_bound(bound)
            if termination is Termination.INTERRUPTED:
                return termination
        return Termination.TIME_LIMIT

    def relax(self, sizes: Sizes) -> Termination:
        """Raise the bound of one unit by its relaxation."""
        return self.units[sizes].relax(
            self._problem, self._formulation, self._options, self._clock, self._params
        )

    def proved(self, method: str) -> tuple[Bound, ...]:
        """Return the exact bound, and the one that rests on the solver if it is larger."""
        exact = Bound(
            time_ns=self.exact_ns,
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.EXACT,
            method=method,
        )
        solver_ns = self.solver_ns
        if solver_ns <= exact.time_ns:
            return (exact,)
        return exact, Bound(
            time_ns=solver_ns,
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.SOLVER,
            method=method,
        )

    def _value(self, values: dict[Sizes, int]) -> int:
        division = best_division(self._problem.counts, values)
        assert division is not None
        return division.value
