r"""Lower bound on sharding by message passing (TRW-S), with multipliers for the memory rows.

`formulations.sharding.ilp` states the bound and proves it. Messages are passed along the order of
the nodes and back (TRW-S: Kolmogorov, IEEE PAMI 28, 2006), in floating point, in C++; after each
pass multipliers take a subgradient step (Polyak) towards the memory that a choice rounded from the
messages would use. The best messages are rounded to multiples of :math:`2^{-s}`, and the bound is
evaluated in integers. Messages and multipliers that are not optimal make the bound smaller, never
wrong. After a further reduction the next bound resumes from the messages and multipliers of what
is left.

Any choice with strategy a at i costs at least the bound plus
:math:`\theta_i(a) - \min \theta_i`. One with a and b at an edge costs at least the bound plus the
like terms of i and of j plus :math:`\theta_{ij}(a, b) - \min \theta_{ij}`. Where this is not below
the cost of a known choice, the strategy or the pair is forbidden (`Messages.tighten`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.params import MESSAGES, MessageParams
from jettison.solvers.sharding.presolve.reduced_graph import ReducedGraph, limits_of, spend_pairs


@dataclass(frozen=True, slots=True)
class ExactBound:
    """Lower bound in exact multiples of 2^-bits.

    Attributes
    ----------
    bits
        Number of bits after the point.
    bound
        The lower bound without the constant of the graph, in units of 2^-bits.
    """

    bits: int
    bound: int

    def bound_ns(self, offset: int) -> int:
        """Return the bound, with the constant of the graph, rounded up to an integer."""
        return offset - (-self.bound >> self.bits)


class Messages:
    """Messages and multipliers for one reduced graph, which changes only by `tighten`.

    Parameters
    ----------
    graph
        The reduced graph, which is consistent.
    params
        The steps of the multipliers.
    kept
        What `kept` of an earlier graph of the same instance returned.
    """

    def __init__(
        self, graph: ReducedGraph, params: MessageParams = MESSAGES, kept: Any = None
    ) -> None:
        self._graph = graph
        kind = _kernels.ShardingBound128 if graph.is_wide else _kernels.ShardingBound64
        self._native = kind(
            graph.native,
            params.passes_before_steps,
            params.passes_without_gain,
            params.shrink_step,
            params.first_step,
            params.least_step,
            params.target_beyond,
            params.momentum,
        )
        if kept is not None:
            self._native.resume(kept)

    @property
    def value(self) -> float:
        """The bound at the best messages so far, without the constant, in floating point."""
        return float(self._native.value())

    @property
    def kept(self) -> Any:
        """The best messages and multipliers, for a later graph of the same instance."""
        return self._native.kept()

    @property
    def multipliers(self) -> list[float]:
        """The multiplier of each row at the best bound."""
        return list(self._native.multipliers())

    def improve(self, passes: int, known: float | None, clock: Clock) -> int:
        """Pass messages forth and back, with a step of the multipliers after each pass.

        A pass that the time ends counts for nothing.

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
        upper = math.inf if known is None else known
        made, pairs = self._native.ascend(upper, passes, limits_of(clock))
        spend_pairs(clock, pairs)
        return int(made)

    def rounded(self) -> list[int]:
        """Return a choice rounded node by node: each strategy is the best given those before it.

        Messages stand in for the nodes that are still open. The choice may exceed the memory, or
        have a forbidden pair.
        """
        return list(self._native.rounded())

    def adopt(self, messages: Sequence[float], multipliers: Sequence[float]) -> None:
        """Replace the best messages and multipliers by given ones.

        Parameters
        ----------
        messages
            For each edge that is left, in order, those to its first node, then to its second.
        multipliers
            One for each row of memory, not negative.
        """
        self._native.adopt(list(multipliers), list(messages))

    def exact(self) -> ExactBound:
        """Evaluate the best messages and multipliers in integers."""
        bound, bits = self._native.prove()
        return ExactBound(int(bits), int(bound))

    def tighten(self, below_ns: int) -> bool:
        """Forbid strategies and pairs of no choice below `below_ns`; tell whether there were any.

        It rests on what `exact` evaluated last. The graph may be left without a choice, which
        proves that none costs less than `below_ns`.
        """
        return bool(self._native.tighten(self._graph.native, below_ns))
