"""Rounding of a model's point to selections of whole layers that cover all excess of memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jettison.formulations.milp.array_model import Floats
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.weight_offload.greedy.selection import Absence, Choice


def rounded_selections(
    problem: WeightOffload, y0: Floats, y1: Floats
) -> Iterator[frozenset[Choice]]:
    """Yield selections that cover all excess, rounded from a point of a model.

    Parameters
    ----------
    problem
        The problem whose memory no operation may exceed.
    y0, y1
        By how much of it each layer is absent after its backward and after its forward, from 0 to
        1, each shape (L,).
    """
    for at_least in (0.5, 2.0):
        yield _Repair(problem, y0, y1).run(at_least)


class _Repair:
    """Rounding of a model's point: adds the choices of largest value, takes back needless ones.

    Parameters
    ----------
    problem
        The problem whose memory no operation may exceed.
    y0, y1
        Values of the choices by layer, each shape (L,).
    """

    def __init__(self, problem: WeightOffload, y0: Floats, y1: Floats) -> None:
        cycle = problem.cycle
        layers = cycle.num_layers
        excess = np.array(cycle.excess_bytes(problem.memory_bytes), dtype=np.int64)
        # By layer: an absence covers both operations of a layer or none.
        self.excess = np.maximum(excess[:layers][::-1], excess[layers:])
        self.sizes = np.array(cycle.weight_bytes, dtype=np.int64)
        self.values = np.stack((y0, y1))
        self.values[:, self.sizes == 0] = -1.0
        self.chosen = np.zeros((2, layers), dtype=bool)
        self.layers = np.arange(layers)

    def run(self, at_least: float) -> frozenset[Choice]:
        """Return a selection that begins with all choices of at least this value."""
        for absence, layer in np.argwhere(self.values >= at_least).tolist():
            self._flip(absence, layer)
        while (self.excess > 0).any():
            worst = int(self.excess.argmax())
            covering = np.stack((self.layers > worst, self.layers < worst))
            open_values = np.where(covering & ~self.chosen, self.values, -2.0)
            # Among equal values the choice that covers most layers: of the last, or of the first.
            absence, layer = divmod(self._last_of_largest(open_values), len(self.layers))
            self._flip(absence, layer)
        for absence, layer in sorted(
            np.argwhere(self.chosen).tolist(), key=lambda choice: self.values[tuple(choice)]
        ):
            covered = self._covered(absence, layer)
            if (self.excess[covered] + self.sizes[layer] <= 0).all():
                self._flip(absence, layer)
        return frozenset(
            Choice(layer + 1, Absence(absence))
            for absence, layer in np.argwhere(self.chosen).tolist()
        )

    def _covered(self, absence: int, layer: int) -> slice:
        return slice(0, layer) if absence == Absence.AFTER_BACKWARD else slice(layer + 1, None)

    def _flip(self, absence: int, layer: int) -> None:
        sign = 1 if self.chosen[absence, layer] else -1
        self.excess[self._covered(absence, layer)] += sign * self.sizes[layer]
        self.chosen[absence, layer] ^= True

    def _last_of_largest(self, values: Floats) -> int:
        largest = np.flatnonzero((values >= values.max() - 1e-9).ravel())
        count = len(self.layers)
        reach = np.where(largest < count, largest, 2 * count - 1 - largest)
        return int(largest[reach.argmax()])
