"""Conversion of bounds on models' objectives into bounds of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.search import Incumbent


class ModelBounds:
    """Bounds on the objectives of models, converted into times for the incumbent.

    Parameters
    ----------
    incumbent
        Receives them.
    base_ns
        The time that an objective of 0 stands for.
    method
        The method's name, for the bounds.
    valid_for
        The class of schedules for which bounds in exact arithmetic hold.
    bound_of
        Converts a solver's dual bound into a proved bound, in the units of the scale.

    Attributes
    ----------
    formulation
        `Bound.formulation` of the bounds that are raised from now on.
    """

    def __init__(
        self,
        incumbent: Incumbent[Any],
        base_ns: int,
        method: str,
        valid_for: ScheduleClass,
        bound_of: Callable[[IntegerScale, float], int] = IntegerScale.bound_from_model,
    ) -> None:
        self.base_ns = base_ns
        self.formulation: Mapping[str, object] | None = None
        self._incumbent = incumbent
        self._method = method
        self._valid_for = valid_for
        self._bound_of = bound_of

    def prove(self, value: Fraction, scale: IntegerScale) -> int:
        """Raise the exact bound to one on a model's objective; return the time that it proves."""
        found_ns = self.base_ns + max(0, math.ceil(value * scale.factor)) * scale.unit
        self._raise(found_ns, self._valid_for, Evidence.EXACT)
        return found_ns

    def believe(self, value: float | None, scale: IntegerScale, valid_for: ScheduleClass) -> int:
        """Raise the bound of a class to the solver's on a model; return the time it amounts to."""
        if value is None:
            return self.base_ns
        found_ns = self.base_ns + max(0, self._bound_of(scale, value))
        self._raise(found_ns, valid_for, Evidence.SOLVER)
        return found_ns

    def _raise(self, time_ns: int, valid_for: ScheduleClass, evidence: Evidence) -> None:
        self._incumbent.prove(
            Bound(
                time_ns=time_ns,
                valid_for=valid_for,
                evidence=evidence,
                method=self._method,
                formulation=self.formulation,
            )
        )
