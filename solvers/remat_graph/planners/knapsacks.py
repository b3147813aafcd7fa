r"""Knapsacks of torch's memory budget: what may stay in memory, by greed, by ILP, by DP.

Source: ``torch/_functorch/_activation_checkpointing/knapsack.py`` of PyTorch 2.13.0. Each of them
takes the sizes of some values on the scale of budgets, and their times, and returns those that fill
a budget. They are repeated here with their arithmetic: a value of no size takes no part in the
greedy choice there (a division by zero), and is always chosen here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.baselines.plans import coarse_to_fine

# The scale of the dynamic program's capacities, and of the budgets that are looked at.
UNITS = 10_000
NO_LIMIT = Clock(None)


@dataclass(frozen=True, slots=True)
class KnapsackItems:
    """Values to choose from.

    Attributes
    ----------
    positions
        Their positions in the program.
    memory
        Their sizes, as shares of the range of budgets.
    runtime
        Their times, in nanoseconds.
    """

    positions: tuple[int, ...]
    memory: tuple[float, ...]
    runtime: tuple[float, ...]


class Knapsack(Protocol):
    """Choice of items for a capacity."""

    def chosen(self, items: KnapsackItems, capacity: float) -> frozenset[int]:
        """Return the numbers of the chosen items."""

    def all_choices(
        self, items: KnapsackItems, largest: float, clock: Clock = NO_LIMIT
    ) -> Iterator[frozenset[int]]:
        """Yield the choices for capacities above 0, up to the largest and below 1.

        Raises
        ------
        TimeoutError
            When the clock has run out between two of them.
        """


@dataclass(frozen=True, slots=True)
class GreedyKnapsack:
    """Items by their time for each byte, each of which is taken if it still fits.

    Attributes
    ----------
    most_budgets
        Number of capacities that are looked at, if there are more that differ.
    """

    most_budgets: int

    def chosen(self, items: KnapsackItems, capacity: float) -> frozenset[int]:
        r"""Return the numbers of the chosen items; :math:`O(n \log n)`."""
        return self._fill(items, _by_ratio(items), capacity)[0]

    def all_choices(
        self, items: KnapsackItems, largest: float, clock: Clock = NO_LIMIT
    ) -> Iterator[frozenset[int]]:
        """Yield the choices, each of a range of capacities, from small capacities to large ones.

        A choice changes at the next capacity at which an item fits that did not. Where there are
        more choices than `most_budgets`, capacities of equal distances are looked at.
        """
        limit = math.nextafter(1.0, 0.0) if largest >= 1 else largest
        exact: list[frozenset[int]] = []
        capacity: float | None = math.nextafter(0.0, 1.0)
        order = _by_ratio(items)
        while capacity is not None and capacity <= limit and len(exact) < self.most_budgets:
            clock.require_time()
            kept, capacity = self._fill(items, order, capacity)
            exact.append(kept)
        if capacity is None or capacity > limit:
            yield from exact
            return
        for step in range(1, self.most_budgets + 1):
            yield self._fill(items, order, limit * step / self.most_budgets)[0]

    def _fill(
        self, items: KnapsackItems, order: Sequence[int], capacity: float
    ) -> tuple[frozenset[int], float | None]:
        """Return the choice, and the next capacity with another one."""
        total, kept = 0.0, set()
        further: float | None = None
        for number in order:
            needed = total + items.memory[number]
            if needed <= capacity:
                total = needed
                kept.add(number)
            elif further is None or needed < further:
                further = needed
        return frozenset(kept), further


@dataclass(frozen=True, slots=True)
class IntegerKnapsack:
    """Items of most time in the capacity, by an integer program in SciPy's ``milp``.

    Its gap is that of HiGHS, :math:`10^{-4}`, and an item counts as chosen where its column is
    exactly 1.

    Attributes
    ----------
    most_budgets
        Number of capacities that are looked at, if there are more that differ.
    """

    most_budgets: int

    def chosen(self, items: KnapsackItems, capacity: float) -> frozenset[int]:
        """Return the numbers of the chosen items."""
        return self._filled(items, capacity, NO_LIMIT)

    def _filled(self, items: KnapsackItems, capacity: float, clock: Clock) -> frozenset[int]:
        from scipy.optimize import Bounds, LinearConstraint, milp

        limit = {} if math.isinf(clock.left_s) else {"time_limit": clock.left_s}
        runtime = np.array(items.runtime)
        found = milp(
            c=-runtime,
            constraints=[LinearConstraint(A=np.array(items.memory), ub=np.array(capacity))],
            integrality=np.ones_like(runtime),
            bounds=Bounds(0, 1),
            options=limit,
        )
        if not found.success:
            return frozenset()
        return frozenset(int(number) for number in np.flatnonzero(found.x == 1))

    def all_choices(
        self, items: KnapsackItems, largest: float, clock: Clock = NO_LIMIT
    ) -> Iterator[frozenset[int]]:
        """Yield choices for capacities in steps of a ten-thousandth, distant ones first.

        What is chosen for one capacity is so for those down to the size of the choice.
        """
        last = min(UNITS - 1, math.floor(largest * UNITS))
        lowest = 0

        def alike(unit: int) -> tuple[int, int]:
            return min(lowest, unit), unit

        units = coarse_to_fine(1, last, lambda low, high: (low + high + 1) // 2, alike)
        for unit in islice(units, self.most_budgets):
            clock.require_time()
            kept = self._filled(items, unit / UNITS, clock)
            # What a run that was cut off has chosen is not what torch would choose.
            clock.require_time()
            size = sum(items.memory[number] for number in kept)
            lowest = max(1, math.ceil(size * UNITS))
            yield kept


@dataclass(frozen=True, slots=True)
class DynamicKnapsack:
    """Items of most time in the capacity, by a dynamic program over ten-thousandths of it.

    Sizes are rounded to ten-thousandths, and times added in 32-bit floats.
    """

    def chosen(self, items: KnapsackItems, capacity: float) -> frozenset[int]:
        """Return the numbers of the chosen items."""
        units = np.array([round(capacity * UNITS)])
        (kept,) = self._backtracked(items, self._table(items, int(units[0])), units)
        return frozenset(int(number) for number in np.flatnonzero(kept))

    def all_choices(
        self, items: KnapsackItems, largest: float, clock: Clock = NO_LIMIT
    ) -> Iterator[frozenset[int]]:
        """Yield the choices of all capacities, from large to small ones; all in one table."""
        below_one = math.nextafter(1.0, 0.0)
        last = round(min(largest, below_one) * UNITS)
        clock.require_time()
        kept = self._backtracked(items, self._table(items, last), np.arange(last, -1, -1))
        clock.require_time()
        _, first = np.unique(kept, axis=0, return_index=True)
        for row in sorted(int(place) for place in first):
            yield frozenset(int(number) for number in np.flatnonzero(kept[row]))

    def _table(self, items: KnapsackItems, capacity: int) -> NDArray[np.float32]:
        """Return the best time of the first items in each capacity."""
        table = np.zeros((len(items.memory) + 1, capacity + 1), dtype=np.float32)
        for number, (size, time) in enumerate(zip(_units(items), items.runtime, strict=True)):
            before, after = table[number], table[number + 1]
            after[:] = before
            if size == 0:
                after += np.float32(time)
            elif size <= capacity:
                np.maximum(before[size:], before[:-size] + np.float32(time), out=after[size:])
        return table

    def _backtracked(
        self, items: KnapsackItems, table: NDArray[np.float32], capacities: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each capacity, a row, whether each item is chosen, from the last one on."""
        left = capacities.copy()
        kept = np.zeros((len(capacities), len(items.memory)), dtype=bool)
        for number, size in reversed(list(enumerate(_units(items)))):
            kept[:, number] = table[number + 1, left] != table[number, left]
            left -= size * kept[:, number]
        return kept


def _units(items: KnapsackItems) -> list[int]:
    return [round(size * UNITS) for size in items.memory]


def _by_ratio(items: KnapsackItems) -> list[int]:
    """Return the items' numbers by their time for each byte, the largest first."""

    def ratio(number: int) -> float:
        size = items.memory[number]
        return items.runtime[number] / size if size else math.inf

    return sorted(range(len(items.memory)), key=ratio, reverse=True)
