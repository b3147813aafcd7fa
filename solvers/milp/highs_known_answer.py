r"""Test of the installed HiGHS on two models of known answer, before it is used.

HiGHS 1.14.0 calls wrong points optimal, with a bound that meets them and no sign of it (issues
2957, 2975, 3002 and 3043 of ERGO-Code/HiGHS, mended in 1.15.0): its presolve fixes a continuous
column that stands in one row only as if the integer columns of that row could not move. No check of
the returned point can see this, since the point is feasible and only the bound is false. HiGHS
1.16.0 calls models infeasible that have points, such as Checkmate's for some graphs of five nodes.
So both versions are refused by their number, and every version has to solve two models first. The
first is

.. math::

    \min\; & 2 x_1 + 3 z_1 + 2 x_2 + z_2 - 5 b_1 - 4 b_2 - 3 b_3 \\
    \text{mixed:}\;  & x_1 + z_1 \ge 4.5, \qquad 0 \le x_1, z_1 \le 10 \\
    \text{shifted:}\; & x_2 + z_2 \ge 20.25, \qquad 8 \le x_2 \le 20,\; 0 \le z_2 \le 20 \\
    \text{first:}\;  & 2 b_1 + 3 b_2 + b_3 \le 5 \\
    \text{second:}\; & 4 b_1 + b_2 + 2 b_3 \le 11 \\
    \text{third:}\;  & 3 b_1 + 4 b_2 + 2 b_3 \le 8

with :math:`z` integer and :math:`b` binary. HiGHS 1.14.0's presolve is wrong on the first two rows.
:math:`x_1 = 4.5` costs 9, since a unit of :math:`z_1` costs one more than it saves.
:math:`z_2 = 12, x_2 = 8.25` cost 28.5, and :math:`z_2 = 13, x_2 = 8` cost 29. Of the binaries all
three exceed the first row, and the best two are :math:`b_1, b_2`, worth 9. The optimum is
:math:`9 + 28.5 - 9 = 28.5`; HiGHS 1.14.0 says 35.

The second, `feasible_model`, has no objective and the point `FEASIBLE_POINT`: what remains of one
of those models of Checkmate if rows are taken away, and columns are fixed at their values of a
schedule, for as long as HiGHS 1.16.0 calls it infeasible.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata

import lazy_loader as lazy
import numpy as np

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.quiet_highs import quiet_highs
from jettison.instances.core.errors import UnsoundSolverError

highspy = lazy.load("highspy")

KNOWN_OPTIMUM = 28.5
REFUSED_VERSIONS = {
    "1.14.0": "it calls wrong answers optimal (HiGHS issues 2957, 2975, 3002, 3043)",
    "1.16.0": "it calls models infeasible that have solutions",
}
_TOLERANCE = 1e-6


def known_answer_model() -> ArrayModel:
    """Return the model of known optimum from the module's docstring."""
    model = ArrayModelBuilder("known_answer", 0)
    x1 = model.add_column("x_1", upper=10, cost=2)
    z1 = model.add_column("z_1", upper=10, cost=3, integer=True)
    x2 = model.add_column("x_2", lower=8, upper=20, cost=2)
    z2 = model.add_column("z_2", upper=20, cost=1, integer=True)
    binaries = [
        model.add_column(f"b_{number}", upper=1, cost=-worth, integer=True)
        for number, worth in enumerate((5, 4, 3), start=1)
    ]
    model.add_row("mixed", [x1, z1], [1, 1], lower=4.5)
    model.add_row("shifted", [x2, z2], [1, 1], lower=20.25)
    model.add_row("first", binaries, [2, 3, 1], upper=5)
    model.add_row("second", binaries, [4, 1, 2], upper=11)
    model.add_row("third", binaries, [3, 4, 2], upper=8)
    return model.build()


# Rows of the second model: coefficients by column, lower and upper limit.
_ROWS: tuple[tuple[dict[str, int], float, float], ...] = (
    ({"R_4_2": 1, "R_4_1": -1, "S_4_1": -1}, -math.inf, 0),
    ({"R_4_0": 1, "S_4_0": 1}, 1, math.inf),
    ({"R_4_2": 1, "S_4_2": 1}, 1, math.inf),
    ({"S_4_0": 1, "R_3_0": -1}, -math.inf, 0),
    ({"R_2_1": 1, "R_2_2": -1}, -math.inf, 0),
    ({"R_3_2": 1, "S_4_1": -1}, -math.inf, 0),
    ({"R_3_2": 1, "S_4_2": -1, "F_3_2": -1}, -math.inf, 0),
    ({"F_3_1": 3, "R_3_1": -1, "R_3_2": 1, "S_4_1": 1}, -math.inf, 2),
    ({"F_3_2": 2, "R_3_2": -1, "S_4_2": 1}, -math.inf, 1),
    ({"F_4_1": 2, "R_4_1": -1, "R_4_2": 1}, -math.inf, 1),
    ({"U_2": 1, "R_2_1": -9, "S_2_0": -6, "S_2_1": -9, "R_2_2": -8}, 0, 0),
    ({"F_3_1": -9, "R_3_2": 8, "R_3_1": 9, "R_3_0": 6}, -math.inf, 14),
    (
        {"F_4_1": -9, "R_4_2": 8, "R_4_1": 9, "R_4_0": 6, "S_4_0": 6, "S_4_1": 9, "S_4_2": 8},
        -math.inf,
        20,
    ),
    ({"U_2": 1, "R_2_2": -8}, 0, math.inf),
    ({"F_3_1": -9, "R_3_2": 8, "R_3_1": 9, "R_3_0": 6}, -8, math.inf),
)
_COLUMNS = (
    *("F_3_1", "F_3_2", "F_4_1", "R_2_1", "R_2_2", "R_3_0", "R_3_1", "R_3_2", "R_4_0", "R_4_1"),
    *("R_4_2", "S_2_0", "S_2_1", "S_4_0", "S_4_1", "S_4_2", "U_2"),
)
_CONTINUOUS = frozenset({"R_3_0", "R_3_1", "R_4_0", "S_2_0", "U_2"})
FEASIBLE_POINT = {"R_2_2": 1, "R_3_0": 1, "S_2_1": 1, "S_4_0": 1, "S_4_2": 1, "U_2": 17}


def feasible_model() -> ArrayModel:
    """Return the second model, of which `FEASIBLE_POINT` names the columns that are not zero."""
    model = ArrayModelBuilder("known_feasible", 0)
    place = {
        name: model.add_column(
            name, upper=20 if name == "U_2" else 1, integer=name not in _CONTINUOUS
        )
        for name in _COLUMNS
    }
    for number, (row, lower, upper) in enumerate(_ROWS, start=1):
        columns = [place[name] for name in row]
        model.add_row(f"row_{number}", columns, list(row.values()), lower=lower, upper=upper)
    return model.build()


@cache
def require_sound_highs() -> None:
    """Check HiGHS on the known models, once in a process and before any other model.

    This takes some milliseconds. A failure is not cached: each later use fails again.

    Raises
    ------
    UnsoundSolverError
        If this version is known for wrong answers, or gives one here.
    """
    version = metadata.version("highspy")
    if version in REFUSED_VERSIONS:
        raise UnsoundSolverError(version, REFUSED_VERSIONS[version])
    # HiGHS keeps its pool of threads per calling thread; this one ends with the pool.
    with ThreadPoolExecutor(max_workers=1) as pool:
        status, objective, bound = pool.submit(_answer, known_answer_model()).result()
        status_of_feasible, *_ = pool.submit(_answer, feasible_model()).result()
    if status != "Optimal" or not np.allclose(
        (objective, bound), KNOWN_OPTIMUM, rtol=0, atol=_TOLERANCE
    ):
        raise UnsoundSolverError(
            version,
            f"it answers {status}, {objective:g} with bound {bound:g} to a model whose optimum is "
            f"{KNOWN_OPTIMUM:g}",
        )
    if status_of_feasible != "Optimal":
        raise UnsoundSolverError(version, f"it answers {status_of_feasible} to a model with points")


def _answer(model: ArrayModel) -> tuple[str, float, float]:
    """Return HiGHS's status, objective and bound for a model, with its default settings."""
    highs = quiet_highs()
    highs.setOptionValue("threads", 1)
    highs.passModel(model.to_highs_lp())
    highs.run()
    info = highs.getInfo()
    status: str = highs.modelStatusToString(highs.getModelStatus())
    highspy.Highs.resetGlobalScheduler(True)
    return status, info.objective_function_value, info.mip_dual_bound
