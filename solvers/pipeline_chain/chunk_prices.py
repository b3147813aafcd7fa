r"""Choice of the weights of paths and the prices of memory for the bound on interleaved steps.

Cuts that were the shortest path for some choice have a value that is linear in the choice, and the
bound is at most the least of these values: its *model*, which is concave. The next choice is where
the model is largest within some distance of the best choice so far (a bundle method; Lemaréchal,
1974). The distance grows where the bound rises, and shrinks where it does not. The multipliers of
the cuts are a mixture of them; where the longest path through the mixed times is longer than the
model says, it is a new path, with weight 0 so far.

Values are floating-point numbers: they choose, and the bound is evaluated in integers elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.solvers.pipeline_chain.chunk_paths import Counts

Floats = NDArray[np.float64]

_FIRST_DISTANCE, _LEAST_DISTANCE, _MOST_DISTANCE = 0.3, 1e-5, 1.0
_GROWTH, _SHRINKING = 2.0, 0.7
# A path is new where it is longer by this share.
_LONGER = 1e-4


@dataclass(frozen=True)
class Mixture:
    """Mixture of cuts: mean times of their parts, and what no choice so near is above.

    Attributes
    ----------
    times, forward
        For each part, the time of both phases, and of the forward one.
    most_ns
        The largest value of the model within the distance.
    """

    times: Floats
    forward: Floats
    most_ns: float


class ChunkPrices:
    """Choice of weights and prices, round by round.

    Parameters
    ----------
    paths
        The paths to begin with.
    devices
        Number of devices, of which each has a price.
    memory_bytes
        Their memory.

    Attributes
    ----------
    paths
        All paths.
    """

    def __init__(self, paths: Sequence[Counts], devices: int, memory_bytes: int) -> None:
        self.paths = list(paths)
        self._devices = devices
        self._byte = 1.0 / max(1, memory_bytes)
        self._choice = np.concatenate((np.full(len(paths), 1.0 / len(paths)), np.zeros(devices)))
        self._best, self._best_ns = self._choice, -np.inf
        self._distance = _FIRST_DISTANCE
        self._unit_ns = 1.0
        self._most_ns = 0.0
        # Of each of the cuts: times, forward times, and the excess of memory as shares of it.
        self._cuts: list[tuple[Floats, Floats, Floats]] = []

    @property
    def shares(self) -> Floats:
        """Weights of the paths, of sum 1."""
        return self._choice[: len(self.paths)]

    @property
    def per_byte(self) -> Floats:
        """Prices of the memory of the devices, in nanoseconds per byte."""
        return self._choice[len(self.paths) :] * self._unit_ns * self._byte

    def next(self, value_ns: float, times: Floats, forward: Floats, excess: Floats) -> Mixture:
        """Choose anew, after the cuts of the last choice.

        Parameters
        ----------
        value_ns
            The value of the last choice.
        times, forward
            Times of the cuts' parts, and of their forward phases.
        excess
            By how much the cuts exceed the memory of each device, in bytes.
        """
        if not self._cuts:
            self._unit_ns = max(1.0, value_ns)
        self._cuts.append((times, forward, excess * self._byte))
        if value_ns > self._best_ns:
            if len(self._cuts) > 1:
                self._distance = min(self._distance * _GROWTH, _MOST_DISTANCE)
            self._best, self._best_ns = self._choice, value_ns
        else:
            self._distance = max(self._distance * _SHRINKING, _LEAST_DISTANCE)
        return self._choose()

    def add_path(self, path: Counts) -> bool:
        """Add a path if it is new; tell whether it is."""
        for known in self.paths:
            if (known.forward == path.forward).all() and (known.backward == path.backward).all():
                return False
        place = len(self.paths)
        self.paths.append(path)
        self._choice = np.insert(self._choice, place, 0.0)
        self._best = np.insert(self._best, place, 0.0)
        return True

    def _choose(self) -> Mixture:
        from scipy.optimize import linprog

        forward = np.array([path.forward for path in self.paths], dtype=float)
        backward = np.array([path.backward for path in self.paths], dtype=float)
        count = len(self.paths)
        values = [
            np.concatenate((forward @ own + backward @ (times - own), excess * self._unit_ns))
            for times, own, excess in self._cuts
        ]
        limits = np.array(values) / self._unit_ns
        reach = np.full(count + self._devices, self._distance)
        found = linprog(
            np.concatenate((np.zeros(count + self._devices), [-1.0])),
            A_ub=np.hstack([-limits, np.ones((len(limits), 1))]),
            b_ub=np.zeros(len(limits)),
            A_eq=np.concatenate((np.ones(count), np.zeros(self._devices + 1)))[None, :],
            b_eq=[1.0],
            bounds=[
                *zip(np.maximum(0.0, self._best - reach), self._best + reach, strict=True),
                (None, None),
            ],
            method="highs",
        )
        mixture = np.zeros(len(limits))
        mixture[-1] = 1.0
        most_ns = np.inf
        if found.status == 0:
            self._choice = np.maximum(found.x[:-1], 0.0)
            self._choice[:count] /= self._choice[:count].sum()
            most_ns = float(found.x[-1]) * self._unit_ns
            shares = -found.ineqlin.marginals
            if shares.sum() > 0:
                mixture = shares / shares.sum()
        times = sum(share * cut[0] for share, cut in zip(mixture, self._cuts, strict=True))
        own = sum(share * cut[1] for share, cut in zip(mixture, self._cuts, strict=True))
        return Mixture(np.asarray(times), np.asarray(own), most_ns)
