"""Run of HiGHS with a time limit that holds: large models in a child process, small ones here.

HiGHS looks at its clock between steps, and one step of a large model (a presolve, a root
relaxation, one phase of the simplex method) has taken ten times the limit. A child process
(`highs_child`) is ended when its time is over, but takes some tenths of a second to start.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.solvers.core.params import Params
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_child import solve_in_child
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution, Progress

# Time for HiGHS to end the run itself, with its best point.
_SECONDS_TO_END = 1.0


@dataclass(frozen=True, kw_only=True)
class ChildParams(Params):
    """Parameters of runs of HiGHS with a time limit that holds.

    Attributes
    ----------
    columns_for_a_child
        Columns of a model above which it is solved in a process of its own.
    """

    columns_for_a_child: int = 2_000


CHILD = ChildParams()


def solve_in_time(
    model: ArrayModel,
    options: HighsOptions,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    on_incumbent: Callable[[Floats], None] | None = None,
    on_work: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
    columns_for_a_child: int = CHILD.columns_for_a_child,
) -> ModelSolution:
    """Solve `model` and return a second after the time limit of `options` at the latest.

    Parameters
    ----------
    model, options, on_progress, on_incumbent, on_work, stop
        As in `solve_model` and `solve_in_child`.
    columns_for_a_child
        As in `ChildParams`.

    Raises
    ------
    SolverError
        As `solve_model` and `solve_in_child` do.
    """
    limit_s = options.time_limit_s
    if limit_s is None or math.isinf(limit_s) or model.num_columns <= columns_for_a_child:
        return solve_model(
            model, options, on_progress, on_incumbent=on_incumbent, on_work=on_work, stop=stop
        )
    return solve_in_child(
        model,
        options,
        wall_limit_s=limit_s + _SECONDS_TO_END,
        on_progress=on_progress,
        on_incumbent=on_incumbent,
        on_work=on_work,
        stop=stop,
    )
