r"""Local search for a choice of strategies on a reduced problem, by heat-bath moves.

A move gives one node another strategy. Its energy is the cost of the choice, plus penalties on
bytes above the memory and on forbidden pairs; their weights grow while the choice breaks a rule. At
temperature T a node takes strategy a with probability proportional to :math:`e^{-E(a)/T}` (heat
bath), at 0 the best one. A move takes time linear in the strategies of the node and of its edges,
and in the rows of memory that it uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.params import DescentParams
from jettison.solvers.sharding.presolve.state import Array, ShardingState

Floats = NDArray[np.float64]


class ShardingSearch:
    """Choice of strategies under local moves; the reduced problem must not change meanwhile.

    Parameters
    ----------
    state, chosen
        The reduced problem, and the choice to begin with.
    seed
        Seed of the random moves.
    params
        How fast the weights of broken rules grow.

    Attributes
    ----------
    chosen
        The strategy of each node that is left, as its index among those left.
    """

    def __init__(
        self, state: ShardingState, chosen: Mapping[int, int], seed: int, params: DescentParams
    ) -> None:
        self._state = state
        self._params = params
        self._random = np.random.default_rng(seed)
        self.chosen = dict(chosen)
        self._nodes = sorted(state.alive)
        self._costs = {node: self._floats(state.costs[node]) for node in self._nodes}
        self._tables: dict[tuple[int, int], Floats] = {}
        for (first, second), table in state.tables.items():
            self._tables[first, second] = floats = self._floats(table)
            self._tables[second, first] = floats.T
        finite = [
            float(values[np.isfinite(values)].max(initial=0))
            for values in (*self._costs.values(), *self._tables.values())
        ]
        self._forbidden_weight = 1.0 + max(finite, default=0.0)
        self._capacity = np.array(state.capacity, dtype=float)
        self._columns = {
            node: [(first, end, usage.astype(float)) for first, end, usage in columns]
            for node in self._nodes
            if (columns := list(state.usage_columns(node)))
        }
        self._used = np.zeros(len(self._capacity))
        for node, columns in self._columns.items():
            for first, end, usage in columns:
                self._used[first:end] += usage[self.chosen[node]]
        typical = sum(float(np.ptp(c[np.isfinite(c)])) for c in self._costs.values())
        self._memory_weight = (1.0 + typical / max(1, len(self._nodes))) / max(
            1.0, float(self._capacity.max(initial=1.0))
        )

    def _floats(self, costs: Array) -> Floats:
        return np.where(costs >= self._state.forbidden, np.inf, costs).astype(float)

    @property
    def labels(self) -> dict[int, int]:
        """The choice by labels: the numbers of the strategies in the instance."""
        return {node: int(self._state.labels[node][a]) for node, a in self.chosen.items()}

    def sweep(self, temperature: float, clock: Clock) -> bool:
        """Move every node once, in random order; tell whether any strategy has changed."""
        clock.spend(10 * (len(self._nodes) + len(self._state.tables)))
        changed = False
        for node in self._random.permutation(self._nodes).tolist():
            energy = self._energy(node)
            energy -= energy.min()
            if temperature > 0:
                weights = np.exp(-energy / temperature)
                reached = np.searchsorted(
                    np.cumsum(weights), self._random.random() * weights.sum(), side="right"
                )
                strategy = min(int(reached), len(energy) - 1)
            else:
                strategy = int(energy.argmin())
                # On ties the present strategy stays, so that descent ends.
                if energy[self.chosen[node]] <= 0:
                    continue
            if strategy != self.chosen[node]:
                self._move(node, strategy)
                changed = True
        return changed

    def _energy(self, node: int) -> Floats:
        weight = self._forbidden_weight
        energy = self._costs[node].copy()
        for other in self._state.neighbours[node]:
            energy += np.minimum(self._tables[node, other][:, self.chosen[other]], weight)
        for first, end, usage in self._columns.get(node, ()):
            rest = self._used[first:end] - usage[self.chosen[node]] - self._capacity[first:end]
            over = np.maximum(0, rest[None, :] + usage[:, None]).sum(axis=1)
            energy += self._memory_weight * over
        return energy

    def _move(self, node: int, strategy: int) -> None:
        for first, end, usage in self._columns.get(node, ()):
            self._used[first:end] += usage[strategy] - usage[self.chosen[node]]
        self.chosen[node] = strategy

    @property
    def is_over_memory(self) -> bool:
        """Whether a row of memory is exceeded."""
        return bool((self._used > self._capacity).any())

    @property
    def has_forbidden_pair(self) -> bool:
        """Whether both ends of an edge have strategies that are forbidden together."""
        return any(
            math.isinf(self._tables[first, second][self.chosen[first], self.chosen[second]])
            for first, second in self._state.tables
        )

    def raise_weights(self) -> None:
        """Raise the weights of broken rules; where none is, lower that of memory a little."""
        growth = self._params.weight_growth
        if self.is_over_memory:
            self._memory_weight *= growth
        elif not self.has_forbidden_pair:
            self._memory_weight /= growth**0.25
        if self.has_forbidden_pair:
            self._forbidden_weight *= growth

    def typical_cost(self) -> float:
        """Return the mean spread of the costs of a node's strategies, other nodes fixed."""
        spreads = []
        for node in self._nodes:
            energy = self._energy(node)
            energy = energy[np.isfinite(energy)]
            spreads.append(float(np.median(energy) - energy.min()))
        return sum(spreads) / max(1, len(spreads))

    def descend(self, clock: Clock, take: Callable[[dict[int, int]], bool]) -> None:
        """Make best moves until none is left; while a rule is broken, raise weights and go on."""
        for _ in range(self._params.repair_sweeps):
            if not clock.left_s:
                break
            if self.sweep(0.0, clock):
                continue
            if take(self.labels):
                return
            self.raise_weights()
        take(self.labels)
