r"""Bounds from messages over a graph of states, with multipliers of its memory rows.

With multipliers :math:`\lambda \ge 0` the least of :math:`\text{cost} + \lambda (\text{memory} -
B)` over all labellings bounds the cost of those that keep the rows. Sequential tree-reweighted
messages bound that minimum in turn, and their minima are its slope in :math:`\lambda`. What is
proved is computed in integers from rounded multipliers and messages, of which any are valid. States
that no labelling cheaper than a known one has are removed, in integers too, which raises the bound.

Source: TRW-S, Kolmogorov, PAMI 2006; Polyak's steps. The kernel has the argument why the pass back
is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from jettison.formulations.remat_sharding.messages.arrays import StateGraph
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params


@dataclass(frozen=True, kw_only=True)
class MessageParams(Params):
    """Parameters of bounds from messages.

    Attributes
    ----------
    first_passes
        Passes before multipliers move.
    patience, shrink
        Passes without a better value after which the steps of multipliers shrink, and by how much.
    step_after_removals
        Least size of a step after states were removed, of 1 in the beginning, and the size after
        `least_step`.
    least_step
        Size of a step below which it starts anew.
    aim
        Where no plan is known, the share above the best value that steps aim at.
    passes
        Passes between two proofs, after each of which labellings are looked at.
    message_rounds, idle_rounds
        Proofs, at most, and those without any gain after which there is no other.
    sweeps
        Sweeps of local search from each labelling, at most.
    """

    first_passes: int = 20
    patience: int = 20
    shrink: float = 0.7
    step_after_removals: float = 0.3
    least_step: float = 0.01
    aim: float = 0.05
    passes: int = 150
    message_rounds: int = 40
    idle_rounds: int = 6
    sweeps: int = 10


MESSAGES = MessageParams()

# Multipliers a little too large leave labellings that keep all rows.
_FACTORS = (1.0, 1.02, 1.1, 1.3, 2.0, 4.0, 16.0, 64.0)


@dataclass(frozen=True)
class Labelling:
    """A state for each node: its place and kind, the cost, and the most that exceeds a row."""

    places: tuple[int, ...]
    kinds: tuple[int, ...]
    cost_ns: int
    excess_bytes: int


class StateBound:
    """Bound of a graph of states that is raised step by step.

    Parameters
    ----------
    graph
        The graph.
    params
        How multipliers move.

    Attributes
    ----------
    bound_ns
        What is proved: no labelling that keeps the rows costs less, or less than the least `upper`
        that was given.
    is_empty
        Whether none costs less than that.
        Also where it is known from the beginning, because no states of some nodes go together.
    """

    def __init__(self, graph: StateGraph, params: MessageParams) -> None:
        self._kernel = _kernels.MessageBound(
            **graph.arrays(),
            first_passes=params.first_passes,
            patience=params.patience,
            shrink=params.shrink,
            step_after_removals=params.step_after_removals,
            least_step=params.least_step,
            aim=params.aim,
            sweeps=params.sweeps,
        )
        self.bound_ns = 0
        self.is_empty: bool = not self._kernel.propagate()

    @property
    def num_states(self) -> int:
        """The number of states that are left."""
        count: int = self._kernel.num_states()
        return count

    def ascend(self, upper_ns: int | None, passes: int, clock: Clock) -> None:
        """Pass messages forward and back, and raise the multipliers."""
        if self.is_empty:
            return
        left_s = None if math.isinf(clock.left_s) else clock.left_s
        self._kernel.ascend(None if upper_ns is None else float(upper_ns), passes, left_s)

    def prove(self, upper_ns: int | None) -> int:
        """Prove a bound in integers, and remove states; return how many.

        Parameters
        ----------
        upper_ns
            States of labellings that cost as much or more are removed. None keeps all.
        """
        if self.is_empty:
            return 0
        bound_ns, removed, self.is_empty = self._kernel.prove(upper_ns)
        self.bound_ns = max(self.bound_ns, bound_ns)
        return int(removed)

    def labellings(self) -> Iterator[Labelling]:
        """Yield labellings, chosen node by node after the messages, whether they keep the rows."""
        if self.is_empty:
            return
        here = (self._kernel.round(factor) for factor in _FACTORS[:3])
        at_best = (self._kernel.round_at_best(factor) for factor in _FACTORS)
        for places, kinds, cost_ns, excess_bytes in chain(at_best, here):
            if places:
                yield Labelling(tuple(places), tuple(kinds), cost_ns, excess_bytes)

    def pairs(self) -> list[list[tuple[int, int]]]:
        """Return for each node the states that are left, as pairs of place and kind."""
        return [list(zip(places, kinds, strict=True)) for places, kinds in self._kernel.states()]

    def states(self) -> list[tuple[frozenset[int], frozenset[int]]]:
        """Return for each node the places and the kinds of the states that are left."""
        return [(frozenset(places), frozenset(kinds)) for places, kinds in self._kernel.states()]
