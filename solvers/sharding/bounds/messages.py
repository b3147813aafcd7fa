r"""Lower bound on sharding by message passing (TRW-S), with multipliers for the memory rows.

For any multipliers :math:`\lambda_r \ge 0` and messages :math:`m_{ij \to i}(a)`, one for each end
of an edge and each strategy there, every choice costs at least

.. math::
    c_0 + \sum_i \min_a \theta_i(a) + \sum_{ij} \min_{a, b} \theta_{ij}(a, b)
        - \sum_r \lambda_r M_r

.. math::
    \theta_i(a) = c_i(a) + \sum_r \lambda_r u_{ri}(a) + \sum_j m_{ij \to i}(a), \qquad
    \theta_{ij}(a, b) = c_{ij}(a, b) - m_{ij \to i}(a) - m_{ij \to j}(b)

since messages cancel in the sum, and a choice within the memory has :math:`\sum_i u_{ri} \le M_r`.
At its best the bound is the linear relaxation of `formulations.sharding.ilp`.

Messages are passed along the order of the nodes and back (TRW-S: Kolmogorov, IEEE PAMI 28, 2006),
in floating point; after each pass multipliers take a subgradient step (Polyak). The best ones are
rounded to multiples of :math:`2^{-s}`, and the bound is evaluated in integers. Messages and
multipliers that are not optimal make the bound smaller, never wrong.

Any choice with strategy a at i costs at least the bound plus
:math:`\theta_i(a) - \min \theta_i`. One with a and b at an edge costs at least the bound plus the
like terms of i and of j plus :math:`\theta_{ij}(a, b) - \min \theta_{ij}`. Where this is not below
the cost of a known choice, the strategy or the pair is forbidden (`tighten`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.params import MESSAGES, MessageParams
from jettison.solvers.sharding.presolve.state import Array, ShardingState
from jettison.solvers.sharding.table_work import moves_at

Floats = NDArray[np.float64]

_MULTIPLIER_BITS = 80


@dataclass(frozen=True, slots=True)
class ExactSplit:
    """Split of all costs over nodes and edges that proves a bound, in exact multiples of 2^-bits.

    Attributes
    ----------
    bits
        Number of bits after the point.
    bound
        The lower bound without the constant of the state, in units of 2^-bits.
    nodes, edges
        For each node and edge, by how much its costs exceed the least one.
    """

    bits: int
    bound: int
    nodes: dict[int, Array]
    edges: dict[tuple[int, int], Array]

    def bound_ns(self, offset: int) -> int:
        """Return the bound, with the constant of the state, rounded up to an integer."""
        return offset - (-self.bound >> self.bits)


class Messages:
    """Messages and multipliers for one reduced problem, which must not change meanwhile.

    Parameters
    ----------
    state
        The reduced problem.
    params
        The steps of the multipliers.

    Attributes
    ----------
    value
        The bound at the best messages so far, without the constant, in floating point.
    """

    def __init__(self, state: ShardingState, params: MessageParams = MESSAGES) -> None:
        self._state = state
        self._params = params
        self._order = sorted(state.alive)
        self._costs = {node: self._floats(state.costs[node]) for node in self._order}
        self._tables = {ends: self._floats(table) for ends, table in state.tables.items()}
        self._messages: dict[tuple[int, int], Floats] = {}
        for first, second in state.tables:
            self._messages[first, second] = np.zeros(len(state.costs[second]))
            self._messages[second, first] = np.zeros(len(state.costs[first]))
        self._usages = {
            node: [(first, end, usage.astype(float)) for first, end, usage in columns]
            for node in self._order
            if (columns := list(state.usage_columns(node)))
        }
        self._capacity = np.array(state.capacity, dtype=float)
        self._multipliers = np.zeros(len(self._capacity))
        self._weighted = {node: self._costs[node] for node in self._order}
        self._step = params.first_step
        self._without_gain = 0
        self.value = -np.inf
        self._moves = moves_at(state.tables.values())
        self._pass_s = 0.0
        self._best = (dict(self._messages), self._multipliers)

    def _floats(self, costs: Array) -> Floats:
        return np.where(costs >= self._state.forbidden, np.inf, costs).astype(float)

    def improve(self, passes: int, known: float | None, clock: Clock) -> int:
        """Pass messages forth and back, with a step of the multipliers after each pass.

        A pass is not begun, or not ended, where the time is over or does not suffice to evaluate
        the bound after it.

        Parameters
        ----------
        passes
            Number of passes; each takes time linear in the number of pairs.
        known
            The cost of a known choice, without the constant; None if there is none.
        clock
            The time limit, which counts the work.

        Returns
        -------
        int
            The number of passes that were made.
        """
        for number in range(passes):
            before_s = clock.seconds
            if clock.left_s <= self._params.passes_to_evaluate * self._pass_s:
                return number
            try:
                self._pass_messages(self._order, clock)
                self._pass_messages(self._order[::-1], clock)
            except TimeoutError:
                return number
            clock.spend(self._moves)
            self._pass_s = clock.seconds - before_s
            split = self._split()
            value = self._value(split)
            if value > self.value:
                self.value = value
                self._best = (split, self._multipliers)
                self._without_gain = 0
            else:
                self._without_gain += 1
                if self._without_gain >= self._params.passes_without_gain:
                    self._step *= self._params.shrink_step
                    self._without_gain = 0
            if len(self._capacity) and number >= self._params.passes_before_steps:
                self._take_step(value, known)
        return passes

    def _split(self) -> dict[tuple[int, int], Floats]:
        """Return the messages that give the bound after a backward pass.

        Each node has distributed its sum to the edges to earlier nodes, so that the least costs of
        edges and nodes are those that the pass computed.
        """
        split = dict(self._messages)
        for node in self._order:
            neighbours = self._state.neighbours[node]
            earlier = [other for other in neighbours if other < node]
            if earlier:
                share = self._sum(node) / max(len(earlier), len(neighbours) - len(earlier))
                for other in earlier:
                    split[other, node] = self._messages[other, node] - share
        return split

    def _sum(self, node: int) -> Floats:
        total = self._weighted[node]
        for other in self._state.neighbours[node]:
            total = total + self._messages[other, node]
        return total

    def _pass_messages(self, order: list[int], clock: Clock) -> None:
        place = {node: number for number, node in enumerate(order)}
        for node in order:
            clock.require_time()
            neighbours = self._state.neighbours[node]
            later = [other for other in neighbours if place[other] > place[node]]
            if not later:
                continue
            share = self._sum(node) / max(len(later), len(neighbours) - len(later))
            for other in later:
                own = share - self._messages[other, node]
                if node < other:
                    message = (self._tables[node, other] + own[:, None]).min(axis=0)
                else:
                    message = (self._tables[other, node] + own[None, :]).min(axis=1)
                self._messages[node, other] = message - message.min()

    def _value(self, split: dict[tuple[int, int], Floats]) -> float:
        total = -float(self._multipliers @ self._capacity)
        for node in self._order:
            own = self._weighted[node]
            for other in self._state.neighbours[node]:
                own = own + split[other, node]
            total += float(own.min())
        for (first, second), table in self._tables.items():
            own = table - split[second, first][:, None] - split[first, second][None, :]
            total += float(own.min())
        return total

    def rounded(self) -> dict[int, int]:
        """Return a choice rounded node by node: each strategy is the best given those before it.

        Messages stand in for the nodes that are still open. The choice may exceed the memory, or
        have a forbidden pair.
        """
        chosen: dict[int, int] = {}
        for node in self._order:
            costs = self._weighted[node]
            for other in self._state.neighbours[node]:
                if other not in chosen:
                    costs = costs + self._messages[other, node]
                elif other < node:
                    costs = costs + self._tables[other, node][chosen[other]]
                else:
                    costs = costs + self._tables[node, other][:, chosen[other]]
            chosen[node] = int(costs.argmin())
        return chosen

    def _take_step(self, value: float, known: float | None) -> None:
        excess = -self._capacity.copy()
        chosen = self.rounded()
        for node, columns in self._usages.items():
            for first, end, usage in columns:
                excess[first:end] += usage[chosen[node]]
        excess[(self._multipliers <= 0) & (excess < 0)] = 0
        norm = float(excess @ excess)
        if norm == 0:
            return
        # A choice that is far from the best one would make steps too long.
        target = value + self._params.target_beyond * abs(value) + 1
        if known is not None:
            target = min(target, known)
        length = self._step * max(target - value, 1e-6 * abs(value)) / norm
        self._multipliers = np.maximum(0, self._multipliers + length * excess)
        for node, columns in self._usages.items():
            weighted = self._costs[node]
            for first, end, usage in columns:
                weight = float(self._multipliers[first:end].sum())
                if weight:
                    weighted = weighted + weight * usage
            self._weighted[node] = weighted

    def adopt(self, messages: dict[tuple[int, int], Floats], multipliers: Floats) -> None:
        """Replace the best messages and multipliers by given ones.

        Parameters
        ----------
        messages
            For each edge in both directions (i, j), its message to j, shape (k_j,).
        multipliers
            One for each row of memory, not negative.
        """
        self._best = (messages, multipliers)

    def exact(self, bits: int = 20) -> ExactSplit:
        """Evaluate the best messages and multipliers in integers, in units of 2^-bits."""
        state = self._state
        messages, multipliers = self._best
        rounded = {
            ends: np.array([round(value) for value in np.ldexp(message, bits).tolist()], object)
            for ends, message in messages.items()
        }
        weights = [_integer(value) for value in multipliers.tolist()]
        shift = _MULTIPLIER_BITS - bits
        bound = -sum(
            -(-weight * capacity >> shift)
            for weight, capacity in zip(weights, state.capacity, strict=True)
        )
        nodes: dict[int, Array] = {}
        for node in self._order:
            own = _scaled(state.costs[node], bits)
            for first, end, usage in state.usage_columns(node):
                # Rounded down: a value below that of the multipliers is a bound, too.
                own = own + (sum(weights[first:end]) * usage.astype(object) >> shift)
            for other in state.neighbours[node]:
                own = own + rounded[other, node]
            least, nodes[node] = self._above_least(state.costs[node], own)
            bound += least
        edges: dict[tuple[int, int], Array] = {}
        for (first, second), table in state.tables.items():
            own = _scaled(table, bits) - rounded[second, first][:, None]
            own = own - rounded[first, second][None, :]
            least, edges[first, second] = self._above_least(table, own)
            bound += least
        return ExactSplit(bits, bound, nodes, edges)

    def _above_least(self, costs: Array, own: Array) -> tuple[int, Array]:
        least = int(own[costs < self._state.forbidden].min())
        return least, own - least


def tighten(state: ShardingState, split: ExactSplit, below_ns: int) -> bool:
    """Forbid strategies and pairs of no choice below `below_ns`; tell whether there were any.

    The state may be left without a choice, which proves that none costs less than `below_ns`.
    """
    left = ((below_ns - state.offset) << split.bits) - split.bound
    changed = False
    for (first, second), above in split.edges.items():
        table = state.tables[first, second]
        total = above + split.nodes[first][:, None] + split.nodes[second][None, :]
        out = (total >= left) & (table < state.forbidden)
        if out.any():
            state.tables[first, second] = np.where(out, state.forbidden, table)
            changed = True
    for node, above in split.nodes.items():
        out = (above >= left) & (state.costs[node] < state.forbidden)
        if out.any():
            state.costs[node] = np.where(out, state.forbidden, state.costs[node])
            changed = True
    return changed


def _scaled(costs: Array, bits: int) -> Any:
    return costs.astype(object) * (1 << bits)


def _integer(value: float) -> int:
    top, bottom = value.as_integer_ratio()
    return (top << _MULTIPLIER_BITS) // bottom
