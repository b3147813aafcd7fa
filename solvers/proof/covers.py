r"""Lifted cover inequalities of knapsack rows, which cut off fractional points of relaxations.

Of a row :math:`\sum_j w_j x_j \le W` over binaries with positive weights, a *cover* :math:`C`
weighs more than :math:`W`, so that :math:`\sum_{j \in C} x_j \le |C| - 1`. It is minimal if no
item can be left out. Every other item :math:`j`, one after the other, gets the largest coefficient

.. math::
    \alpha_j = \beta - \max \Bigl\{ \sum_{i \text{ before } j} \alpha_i x_i :
        \sum_i w_i x_i \le W - w_j \Bigr\}, \qquad \beta = |C| - 1,

from a dynamic program over the profit (Balas 1975, Padberg 1975). Covers are built from the items
with the largest values in a relaxation.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.exact_rows import ExactRows, Floats, Integers, integers
from jettison.solvers.proof.linear_program import LinearProgram, LpStatus
from jettison.solvers.proof.new_rows import NewRow
from jettison.solvers.proof.params import PROOF, ProofParams

_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False, slots=True)
class Knapsack:
    """Knapsack row of a model: its number, its items, their weights and the capacity."""

    row: int
    columns: Integers
    weights: Integers
    capacity: int

    def cover(self, point: Floats, params: ProofParams) -> NewRow | None:
        """Return a lifted cover that a point breaks, or None where none was found.

        Takes time :math:`O(n k)` for :math:`n` items and a cover of :math:`k` items.
        """
        values = point[self.columns]
        order = np.lexsort((-self.weights, -values))
        total = np.cumsum(self.weights[order])
        size = int(np.searchsorted(total, self.capacity, side="right")) + 1
        if size > len(order) or size < 2 or size * len(order) > params.most_cover_steps:
            return None
        chosen = order[:size].tolist()
        weight = int(total[size - 1])
        for item in reversed(chosen):
            if weight - int(self.weights[item]) > self.capacity:
                weight -= int(self.weights[item])
                chosen.remove(item)
        most = len(chosen) - 1
        if most < 1:
            return None
        profits = self._lifted(chosen, order.tolist(), most)
        items = list(profits)
        alphas = np.array(list(profits.values()))
        if float(alphas @ values[items]) <= most * (1 + params.least_violation):
            return None
        columns = [int(self.columns[item]) for item in items]
        pairs = " ".join(f"{j}:{a}" for j, a in zip(columns, profits.values(), strict=True))
        return NewRow(
            tuple(columns),
            tuple(-alpha for alpha in profits.values()),
            -most,
            f"K {self.row} {most} {pairs}",
        )

    def _lifted(self, chosen: Sequence[int], order: Sequence[int], most: int) -> dict[int, int]:
        """Return the lifted coefficients of all items whose coefficient is not 0."""
        # The least weight of items whose coefficients add up to at least q, for q up to `most`.
        lightest = np.concatenate([[0], np.cumsum(np.sort(self.weights[list(chosen)]))])[: most + 1]
        profits = dict.fromkeys(chosen, 1)
        for item in order:
            if item in profits:
                continue
            weight = int(self.weights[item])
            room = self.capacity - weight
            alpha = most - (int(np.searchsorted(lightest, room, side="right")) - 1)
            if alpha < 1:
                continue
            profits[item] = alpha
            shifted = np.zeros_like(lightest)
            shifted[alpha:] = lightest[: max(0, most + 1 - alpha)]
            lightest = np.minimum(lightest, shifted + weight)
        return profits


def useful_covers(
    model: IntegerModel,
    given: Sequence[NewRow],
    cutoff: float,
    clock: Clock,
    stop: threading.Event,
    params: ProofParams = PROOF,
) -> list[NewRow]:
    """Return the lifted covers with multipliers in the relaxation that they tighten.

    Parameters
    ----------
    model, given
        The model, and the rows that have been derived before.
    cutoff
        The value of the objective at which the relaxation is tight enough.
    clock, stop
        Time limit and stop signal; the covers found by then are returned.
    """
    rows = ExactRows(model)
    rows.append(given)
    knapsacks = list(_knapsacks(model, rows))
    if not knapsacks:
        return []
    program = LinearProgram(rows, rows.lower, rows.upper, with_costs=True)
    first = rows.num_rows
    found: list[NewRow] = []
    rises: list[float] = []
    for _ in range(params.most_cover_rounds):
        answer = program.solve(clock)
        if stop.is_set() or answer.status is not LpStatus.SOLVED or answer.value > cutoff:
            break
        rises.append(answer.value)
        least = params.least_rise * max(1.0, abs(answer.value))
        patience = params.patience
        if len(rises) > patience and rises[-1] - rises[-1 - patience] < least:
            break
        point = program.point()
        new = [
            cover for knapsack in knapsacks if (cover := knapsack.cover(point, params)) is not None
        ]
        if not new:
            break
        begin = rows.num_rows
        found += new
        rows.append(new)
        program.add_rows(np.arange(begin, rows.num_rows))
    used = program.multipliers()[first:]
    return [row for row, multiplier in zip(found, used.tolist(), strict=True) if multiplier > 0]


def _knapsacks(model: IntegerModel, rows: ExactRows) -> Iterator[Knapsack]:
    """Yield the inequalities over binaries whose weights have one sign and are not all equal."""
    binary = rows.is_integer & (rows.lower == 0) & (rows.upper == 1)
    for number in range(len(model.rows)):
        columns, coefficients = rows.row(number)
        if len(columns) < 3 or rows.is_equation[number] or not binary[columns].all():
            continue
        if (coefficients >= 0).any() or coefficients.min() == coefficients.max():
            continue
        weights = integers([-int(coefficient) for coefficient in coefficients])
        yield Knapsack(number, columns, weights, -int(rows.right[number]))
