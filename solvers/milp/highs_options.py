"""Options of a run of HiGHS: limits, gap, tolerance, algorithm and start."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.instances.core.errors import InputError

_LARGEST_INT = 2**31 - 1
_OPTIONAL = ("time_limit_s", "node_limit", "work_limit", "feasibility_tolerance")
# Field, conversion, least and largest value, and what would be right.
_RANGES: tuple[tuple[str, Callable[[Any], float], float, float, str], ...] = (
    ("time_limit_s", float, 0, math.inf, "write seconds, 0 or more, or None"),
    ("node_limit", operator.index, 0, _LARGEST_INT, "write a number of nodes, or None"),
    ("work_limit", operator.index, 1, sys.maxsize, "write an amount of work, 1 or more, or None"),
    ("gap", float, 0, math.inf, "write a fraction such as 0.01, 0 or more"),
    ("threads", operator.index, 1, _LARGEST_INT, "write a number of threads, 1 or more"),
    ("seed", operator.index, 0, _LARGEST_INT, f"write an integer, 0 to {_LARGEST_INT}"),
    ("feasibility_tolerance", float, 1e-10, 1e-2, "write 1e-10 to 1e-2, or None"),
)


class LinearAlgorithm(StrEnum):
    """Algorithm of HiGHS for linear programs.

    ``choose``
        The choice of HiGHS: usually the simplex method, which ends with a basis.
    ``interior``
        By its interior point method without crossover: faster for large models. Multipliers are
        those of a point close to an optimum, for `exact_dual_bound` to evaluate.
    ``interior, then crossover``
        The same, and on to a basis: where the point alone is too far from an optimum.
    """

    CHOOSE = "choose"
    INTERIOR = "interior"
    CROSSOVER = "interior, then crossover"


class IntegerSearch(StrEnum):
    """Emphasis of HiGHS in integer models.

    ``choose``
        The defaults: heuristics and many rounds of cutting planes before the first branching.
    ``prove``
        On the bound, for models with a good `start`: no heuristics, and only a few cutting planes
        at a time.
    """

    CHOOSE = "choose"
    PROVE = "prove"


@dataclass(frozen=True, eq=False, kw_only=True)
class HighsOptions:
    """Options of a run of HiGHS.

    Attributes
    ----------
    time_limit_s
        Wall-clock seconds; None for no limit. HiGHS looks at its clock only now and then; where
        the limit must hold, see `jettison.solvers.milp.highs_child`.
    node_limit
        Branch-and-bound nodes; None for no limit. Unlike a time limit it stops at the same point
        on every machine.
    work_limit
        Work of an integer model as `jettison.solvers.milp.highs_work` counts it; None for no limit.
        It stops at the same point on every machine, and in the root too.
    gap
        Stop once the relative gap is this small. At 0 HiGHS still stops at an absolute 1e-6.
    threads
        Threads that HiGHS may use. Published numbers use 1.
    seed
        Seed of HiGHS's random choices.
    feasibility_tolerance
        By how much a row, bound or integrality may be violated, absolute; None for HiGHS's own:
        1e-6 for integer models, 1e-7 for linear programs.
    linear_algorithm
        Algorithm for linear programs; in integer models HiGHS chooses.
    integer_search
        Emphasis in models with integers.
    start
        A point to start an integer model from, shape (n,); NaN where HiGHS is to find the value.
        A point that cannot be completed to a feasible one is ignored.

    Raises
    ------
    InputError
        If a value is not a number of its kind, or out of range.
    """

    time_limit_s: float | None = None
    node_limit: int | None = None
    work_limit: int | None = None
    gap: float = 1e-4
    threads: int = 1
    seed: int = 0
    feasibility_tolerance: float | None = None
    linear_algorithm: LinearAlgorithm = LinearAlgorithm.CHOOSE
    integer_search: IntegerSearch = IntegerSearch.CHOOSE
    start: ArrayLike | None = None

    def __post_init__(self) -> None:
        for field, kind, least, most, expected in _RANGES:
            given = getattr(self, field)
            if given is None and field in _OPTIONAL:
                continue
            try:
                value = kind(given)
            except (TypeError, ValueError):
                raise InputError(f"{given!r}", field=field, expected=expected) from None
            # Written so that it fails for NaN as well.
            if not least <= value <= most:
                raise InputError(f"{given!r}", field=field, expected=expected)
            object.__setattr__(self, field, value)
        object.__setattr__(self, "linear_algorithm", LinearAlgorithm(self.linear_algorithm))
        object.__setattr__(self, "integer_search", IntegerSearch(self.integer_search))

    def start_for(self, model: ArrayModel) -> Floats | None:
        """Return the start as an array.

        Raises
        ------
        InputError
            If it does not fit `model`, or `model` is a linear program.
        """
        if self.start is None:
            return None
        start = np.asarray(self.start, dtype=float)
        if start.shape != (model.num_columns,) or np.isinf(start).any():
            raise InputError(
                f"a start of shape {start.shape}",
                field="start",
                expected=f"give {model.num_columns} numbers, one per column, NaN where unknown",
            )
        if not model.integer.any():
            raise InputError(
                "a start for a linear program",
                field="start",
                expected="leave it out: HiGHS starts only integer models from a point",
            )
        return start
