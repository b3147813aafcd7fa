"""SCIP on quadratic models: an optional solver for what HiGHS cannot read.

SCIP reads the LP file that `jettison export` writes, so that what is solved is what others get.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.milp.quadratic_model import QuadraticModel
from jettison.instances.core.errors import MissingExtraError
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp.solution import ModelSolution, Progress, answer_of

# Why a run ended, by all words that PySCIPOpt has for it. Limits that are never set are errors.
TERMINATIONS = {
    "optimal": Termination.COMPLETED,
    "infeasible": Termination.COMPLETED,
    "unbounded": Termination.COMPLETED,
    "gaplimit": Termination.GAP_REACHED,
    "timelimit": Termination.TIME_LIMIT,
    "nodelimit": Termination.NODE_LIMIT,
    "totalnodelimit": Termination.NODE_LIMIT,
    "stallnodelimit": Termination.NODE_LIMIT,
    "memlimit": Termination.MEMORY_LIMIT,
    "userinterrupt": Termination.INTERRUPTED,
    "sollimit": Termination.ERROR,
    "bestsollimit": Termination.ERROR,
    "restartlimit": Termination.ERROR,
    "primallimit": Termination.ERROR,
    "duallimit": Termination.ERROR,
    # Which of the two it is would be open, and our models are bounded.
    "inforunbd": Termination.ERROR,
    "unknown": Termination.ERROR,
}
_PROVED = {"infeasible": Answer.INFEASIBLE, "unbounded": Answer.UNBOUNDED}


@dataclass(frozen=True, eq=False, kw_only=True)
class ScipOptions:
    """Options of a run.

    Attributes
    ----------
    time_limit_s
        Wall-clock seconds; None for no limit.
    seed
        Shifts all of SCIP's own seeds.
    tolerance
        By what a row, relative to its largest term, or a dual multiplier may be violated.
    start
        A point to start from, shape (n,), NaN where SCIP is to find the value; None for none.
    """

    time_limit_s: float | None = None
    seed: int = 0
    tolerance: float = 1e-9
    start: Floats | None = None


def require_scip() -> Any:
    """Return the module `pyscipopt`.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import pyscipopt
    except ImportError:
        raise MissingExtraError("PySCIPOpt", "scip", "solving a quadratic model by SCIP") from None
    return pyscipopt


def solve_quadratic(
    model: QuadraticModel,
    options: ScipOptions | None = None,
    *,
    on_point: Callable[[Floats], None] | None = None,
    on_progress: Callable[[Progress], bool] | None = None,
) -> ModelSolution:
    """Solve a quadratic model by SCIP on one thread.

    Parameters
    ----------
    model
        The model, to be minimised.
    options
        Options of the run.
    on_point
        Called with each better point, shape (n,).
    on_progress
        Called after each better point and each node, and told to stop the run by True.

    Returns
    -------
    ModelSolution
        Columns that occur in no row and not in the objective are NaN in its values. A run that
        `on_progress` or Ctrl-C has stopped is interrupted.

    Raises
    ------
    MissingExtraError
        If PySCIPOpt is not installed.
    SolverError
        If SCIP cannot read the model.
    """
    return _Run(model, options or ScipOptions(), on_point, on_progress).solve()


class _Run:
    """One run of SCIP, with what it tells while it runs."""

    def __init__(
        self,
        model: QuadraticModel,
        options: ScipOptions,
        on_point: Callable[[Floats], None] | None,
        on_progress: Callable[[Progress], bool] | None,
    ) -> None:
        self._module = require_scip()
        self._model = model
        self._options = options
        self._on_point = on_point
        self._on_progress = on_progress
        self._raised: BaseException | None = None
        self._trace: list[Progress] = []
        self._began_s = time.perf_counter()
        self._scip = self._read()

    def _read(self) -> Any:
        scip = self._module.Model()
        scip.hideOutput()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.lp")
            path.write_text(self._model.lp_text(), encoding="utf-8")
            try:
                scip.readProblem(str(path))
            except OSError as error:
                raise SolverError(f"SCIP cannot read {self._model.name}: {error}") from error
        known = {variable.name: variable for variable in scip.getVars()}
        self._variables = [known.get(name) for name in self._model.column_names]
        return scip

    def solve(self) -> ModelSolution:
        scip, options, events = self._scip, self._options, self._module.SCIP_EVENTTYPE
        if options.time_limit_s is not None:
            scip.setParam("limits/time", options.time_limit_s)
        scip.setParam("limits/gap", 0.0)
        scip.setParam("randomization/randomseedshift", options.seed)
        scip.setParam("numerics/feastol", options.tolerance)
        scip.setParam("numerics/dualfeastol", options.tolerance)
        if options.start is not None:
            self._begin_from(options.start)
        scip.attachEventHandlerCallback(self._hear, [events.BESTSOLFOUND, events.NODESOLVED])
        # Other threads run beside it; SCIP ends on Ctrl-C by itself.
        scip.optimizeNogil()
        if self._raised is not None:
            raise self._raised
        status = scip.getStatus()
        values = self._values() if scip.getNSols() else None
        objective = None if values is None else float(scip.getObjVal())
        bound = self._dual_bound()
        return ModelSolution(
            termination=TERMINATIONS[status],
            answer=_PROVED.get(status) or answer_of(objective, bound),
            objective=objective,
            dual_bound=bound,
            values=values,
            nodes=scip.getNTotalNodes(),
            seconds=time.perf_counter() - self._began_s,
            trace=tuple(self._trace),
        )

    def _begin_from(self, start: Floats) -> None:
        point = self._scip.createPartialSol()
        for variable, value in zip(self._variables, start.tolist(), strict=True):
            if variable is not None and not math.isnan(value):
                self._scip.setSolVal(point, variable, value)
        self._scip.addSol(point)

    def _hear(self, scip: Any, event: Any) -> None:
        """Tell of a point or a node; an exception in a callback would be lost inside of SCIP."""
        try:
            is_point = event.getType() & self._module.SCIP_EVENTTYPE.BESTSOLFOUND
            if is_point and self._on_point is not None:
                self._on_point(self._values())
            objective = float(scip.getPrimalbound()) if scip.getNSols() else None
            seconds = time.perf_counter() - self._began_s
            progress = Progress(seconds, objective, self._dual_bound(), scip.getNTotalNodes())
            self._trace.append(progress)
            if self._on_progress is not None and self._on_progress(progress):
                scip.interruptSolve()
        except BaseException as error:
            self._raised = self._raised or error
            scip.interruptSolve()

    def _values(self) -> Floats:
        best = self._scip.getBestSol()
        return np.array(
            [
                math.nan if variable is None else _settled(self._scip.getSolVal(best, variable))
                for variable in self._variables
            ]
        )

    def _dual_bound(self) -> float | None:
        bound = float(self._scip.getDualbound())
        return None if self._scip.isInfinity(abs(bound)) else bound


def _settled(value: float) -> float:
    """Return the nearest integer where a value is as near to it as tolerance allows."""
    nearest = round(value)
    return float(nearest) if abs(value - nearest) <= 1e-6 else float(value)
