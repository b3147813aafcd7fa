r"""Local search for a choice of strategies, in C++, on a graph reduced or not.

`LocalSearch.begin_greedy`
    Node by node the cheapest strategy beside those chosen, with the least cost at each edge to a
    node that is still open. No copy of any table is made.
`LocalSearch.repair`
    Best moves of single nodes, in random order. A forbidden pair costs a weight, and so does every
    byte above the memory in each row; weights of broken rules grow until none is broken.
`LocalSearch.anneal`
    Rounds from the best choice that breaks no rule. In every other one none is broken again; in
    those between a byte above the memory has a price, which rises while the memory is exceeded and
    falls while it is not. A sweep moves single nodes by heat bath, then trees of some nodes: a
    random tree such that each node has an edge to no other one of it than its parent and its
    children, the best strategies of which follow from a dynamic program over it, beside the present
    strategies of all others. At a temperature T costs have Gumbel noise
    :math:`-T \log(-\log U)`, whose least one is a sample of the heat bath. With multipliers of
    memory (`bounds.messages`) the rounds weigh none, half or all of their price of what a strategy
    uses. Each round draws its temperature from scales that differ by factors of four, those more
    often that brought gains.

A move takes time linear in the pairs that it looks at, and in the rows of memory whose usage it
changes. Sources: simulated annealing (Kirkpatrick et al., 1983); heat bath (Geman and Geman, 1984);
trees that move together: Hamze and de Freitas, UAI 2004; samples by noise: Papandreou and Yuille,
ICCV 2011.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.params import DescentParams
from jettison.solvers.sharding.presolve.reduced_graph import (
    PAIRS_PER_MOVE,
    ReducedGraph,
    limits_of,
    spend_pairs,
)


class LocalSearch:
    """Choice of strategies under local moves; the reduced graph must not change meanwhile.

    Parameters
    ----------
    graph
        The reduced graph.
    seed
        Seed of the random moves.
    params
        How the weights of broken rules grow, and how annealing cools.
    """

    def __init__(self, graph: ReducedGraph, seed: int, params: DescentParams) -> None:
        self._graph = graph
        kind = _kernels.ShardingSearch128 if graph.is_wide else _kernels.ShardingSearch64
        self._native = kind(
            graph.native,
            seed,
            params.repair_sweeps,
            params.weight_growth,
            params.over_growth,
            params.round_sweeps,
            params.round_growth,
            params.first_temperature,
            params.last_temperature,
            params.tree_nodes,
        )
        self._told = math.inf

    @property
    def has_best(self) -> bool:
        """Whether a choice that breaks no rule is known."""
        return bool(self._native.has_best())

    @property
    def sweeps_without_gain(self) -> int:
        """Sweeps of annealing since the best choice was found."""
        return int(self._native.sweeps_without_gain())

    def set_prices(self, multipliers: Sequence[float]) -> None:
        """Guide moves by the multipliers of memory, one for each row."""
        self._native.set_prices(list(multipliers))

    def begin_greedy(self, clock: Clock) -> None:
        """Begin from the greedy choice."""
        spend_pairs(clock, self._native.begin_greedy(limits_of(clock)))

    def begin_from(self, choice: Sequence[int]) -> None:
        """Begin from a choice of what is left."""
        self._native.begin_from(list(choice))

    def repair(self, clock: Clock) -> bool:
        """Move until no rule is broken; tell whether that is reached."""
        is_valid, pairs = self._native.repair(limits_of(clock))
        spend_pairs(clock, pairs)
        return bool(is_valid)

    def anneal(self, clock: Clock, most_moves: int) -> None:
        """Anneal for so much work, or until the time is up, from a choice that breaks no rule."""
        left_s, pairs = limits_of(clock)
        limits = (left_s, min(pairs, float(most_moves * PAIRS_PER_MOVE)))
        spend_pairs(clock, self._native.anneal(limits))

    def tell(self, incumbent: ShardingIncumbent) -> bool:
        """Offer the best choice, if it is new and cheaper than the best known; tell whether it was.

        The kernel adds up costs in floating point; the replay of the incumbent is exact.
        """
        if not self.has_best:
            return False
        cost = float(self._native.best_cost())
        known = incumbent.time_ns
        if cost >= self._told or (known is not None and cost + self._graph.offset_ns >= known):
            return False
        self._told = cost
        return incumbent.take(self._graph.decode(self._native.best()))
