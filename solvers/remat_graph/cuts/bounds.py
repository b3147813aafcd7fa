"""The largest lower bounds that are known of a graph's step, for each class of schedules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence


class GraphBounds:
    """Bounds from models of recomputations; each only rises.

    Parameters
    ----------
    base_ns
        The time without recomputation.
    method
        What to call the bounds.
    valid_for
        The class that bounds in exact arithmetic hold for.

    Attributes
    ----------
    exact_ns
        The bound in exact arithmetic.
    solver_ns
        For each class, the bound that rests on the solver.
    formulation
        What `Bound.formulation` says of bounds that are raised from now on.
    """

    def __init__(self, base_ns: int, method: str, valid_for: ScheduleClass) -> None:
        self.base_ns = base_ns
        self.exact_ns = base_ns
        self.solver_ns = {valid_for: base_ns}
        self.formulation: Mapping[str, object] | None = None
        self._formulations: dict[tuple[Evidence, ScheduleClass], Mapping[str, object] | None] = {}
        self._method = method
        self._valid_for = valid_for

    @property
    def largest_ns(self) -> int:
        """The largest bound, whatever class it holds for."""
        return max(self.exact_ns, *self.solver_ns.values())

    def prove(self, value: Fraction, scale: IntegerScale) -> int:
        """Raise the exact bound by one on a model's objective; return what that proves."""
        found_ns = self.base_ns + max(0, math.ceil(value * scale.factor)) * scale.unit
        if found_ns > self.exact_ns:
            self.exact_ns = found_ns
            self._formulations[Evidence.EXACT, self._valid_for] = self.formulation
        return found_ns

    def believe(self, value: float | None, scale: IntegerScale, valid_for: ScheduleClass) -> int:
        """Raise the bound of a class by the solver's on a model; return what that amounts to."""
        if value is None:
            return self.base_ns
        found_ns = self.base_ns + max(0, scale.bound_from_model(value))
        if found_ns > self.solver_ns.setdefault(valid_for, self.base_ns):
            self.solver_ns[valid_for] = found_ns
            self._formulations[Evidence.SOLVER, valid_for] = self.formulation
        return found_ns

    def as_bounds(self) -> tuple[Bound, ...]:
        """Return the exact bound, and those of the solver that are larger."""
        bounds = [self._bound(self.exact_ns, self._valid_for, Evidence.EXACT)]
        for valid_for, time_ns in self.solver_ns.items():
            if time_ns > max(bound.time_ns for bound in bounds):
                bounds.append(self._bound(time_ns, valid_for, Evidence.SOLVER))
        return tuple(bounds)

    def _bound(self, time_ns: int, valid_for: ScheduleClass, evidence: Evidence) -> Bound:
        return Bound(
            time_ns=time_ns,
            valid_for=valid_for,
            evidence=evidence,
            method=self._method,
            formulation=self._formulations.get((evidence, valid_for)),
        )
