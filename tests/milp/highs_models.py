"""Small and hard models on which the HiGHS engine is tested."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import HighsOptions, ModelSolution, solve_model


def one_column(
    *,
    cost: float = 1,
    lower: float = 0,
    upper: float = math.inf,
    integer: bool = False,
    row: tuple[float, float, float] | None = None,
    offset: float = 0,
) -> ArrayModel:
    """Minimise cost * x + offset; a row is (least, coefficient, most)."""
    model = ArrayModelBuilder("one-column", offset)
    x = model.add_column("x", lower=lower, upper=upper, cost=cost, integer=integer)
    if row is not None:
        least, coefficient, most = row
        model.add_row("r", [x], [coefficient], lower=least, upper=most)
    return model.build()


def knapsack(items: int = 60, rows: int = 5, seed: int = 0) -> ArrayModel:
    """A multi-dimensional knapsack; points are easy to find, the best one is hard to prove."""
    random = np.random.default_rng(seed)
    weights = random.integers(10, 1000, (rows, items)).astype(float)
    values = np.round(weights.mean(axis=0) + random.integers(0, 500, items))
    model = ArrayModelBuilder("knapsack", 1000)
    model.add_columns([f"x_{i}" for i in range(items)], upper=1, cost=-values, integer=True)
    model.add_rows(
        [f"w_{i}" for i in range(rows)],
        np.repeat(np.arange(rows), items),
        np.tile(np.arange(items), rows),
        weights.ravel(),
        upper=np.floor(weights.sum(axis=1) / 2),
    )
    return model.build()


def market_split(rows: int = 6, seed: int = 0) -> ArrayModel:
    """Split every row of random weights exactly in half: no point is found in minutes."""
    random = np.random.default_rng(seed)
    items = 10 * (rows - 1)
    weights = random.integers(1, 100, (rows, items)).astype(float)
    half = np.floor(weights.sum(axis=1) / 2)
    model = ArrayModelBuilder("market-split")
    model.add_columns([f"x_{i}" for i in range(items)], upper=1, integer=True)
    model.add_rows(
        [f"r_{i}" for i in range(rows)],
        np.repeat(np.arange(rows), items),
        np.tile(np.arange(items), rows),
        weights.ravel(),
        lower=half,
        upper=half,
    )
    return model.build()


HARD_KNAPSACK = knapsack(items=150, rows=12)


@cache
def solved_knapsack() -> ModelSolution:
    """The knapsack of seed 0, solved to its end once for all tests."""
    return solve_model(knapsack(), HighsOptions(gap=0))


def assert_nothing_is_known(solution: ModelSolution) -> None:
    assert solution.answer is Answer.UNKNOWN
    assert solution.values is None
    assert solution.objective is None
    assert solution.gap is None
