"""A small graph to bound, and runs of HiGHS whose answers a test changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts import model_runs as graph_model_runs

EXACT = SolveOptions(time_limit_s=None, gap=0)


def watched(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[int, ModelSolution], ModelSolution]
) -> None:
    """Let HiGHS answer, in silence, what `change` makes of its answer and the number of the run."""
    runs = 0

    def changed(model: ArrayModel, options: HighsOptions, *_: Any, **__: Any) -> ModelSolution:
        nonlocal runs
        runs += 1
        return change(runs, solve_model(model, options))

    for name in ("solve_model", "solve_in_time"):
        monkeypatch.setattr(graph_model_runs, name, changed)


def largest_ns(outcome: Outcome) -> int:
    """Return the largest bound."""
    return max(bound.time_ns for bound in outcome.bounds)
