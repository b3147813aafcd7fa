r"""Recomputations that keep products of matrices apart and let elementwise operators run together.

KIWI's first simplification (Section 3.2) forbids that an operator and an input of it are both
computed again, and so forbids what JAX's policy checkpoint_dots does: all that stands between two
products of matrices is computed again, one operator from the other. Here a set :math:`R` of forward
operators may be computed again if of any two neighbours in :math:`R` neither is a product.

Each operator of :math:`R` is computed again once, right before the first backward operator that
needs it: that reads it, or that needs an operator of :math:`R` which reads it. All that is computed
again before one backward operator is computed in the order of the graph. Values may be freed at
any time.

What holds for it
-----------------
* A plan of KIWI's reduced problem is of this kind: its :math:`R` has no neighbours at all, and each
  operator is computed again right before its first backward user.
* So is a plan that drops all forward values but products, whatever its strategies are
  (`solvers.remat_sharding.baselines`): no operator of its :math:`R` is a product.
* All of these plans are staged: between two first computations each operator is computed again at
  most once, in the order of the graph.

Where no forward operator is called a product of matrices, none counts as elementwise, and
:math:`R` has no neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.reduced_recomputation import (
    ReducedRecomputation,
    has_reduced_problem,
)

# Names of products of matrices in JAX and in the generators; convolutions are products too.
PRODUCTS = ("dot_general", "dot", "conv_general_dilated")


class ElementwiseRecomputation:
    """Sets of operators of one graph that may be computed again, elementwise ones together.

    Parameters
    ----------
    sharded
        The instance. Every backward operator comes after all others.

    Attributes
    ----------
    moments
        What the reduced problem says of the graph: first backward and last uses.

    Raises
    ------
    InputError
        If a backward operator comes before one that is not, which is named.
    """

    def __init__(self, sharded: ShardedGraph) -> None:
        self._sharded = sharded
        self.moments = ReducedRecomputation(sharded)

    @cached_property
    def elementwise(self) -> frozenset[int]:
        """The forward operators that are no products; none where no name is a product's."""
        forward = {i for i, item in enumerate(self._sharded.operators) if item.role is Role.FORWARD}
        products = {i for i in forward if self._sharded.operators[i].operation in PRODUCTS}
        return frozenset(forward - products if products else ())

    @cached_property
    def recomputable(self) -> tuple[int, ...]:
        """The operators that may be computed again, ascending.

        They are read by a backward operator, or elementwise and read by another elementwise one
        that may be computed again.
        """
        found = set(self.moments.recomputable)
        for i in reversed(range(len(self._sharded))):
            if any(self.are_together(i, user) and user in found for user in self._sharded.users[i]):
                found.add(i)
        return tuple(sorted(found))

    def are_together(self, source: int, user: int) -> bool:
        """Whether an operator and one that reads it may both be computed again."""
        return source in self.elementwise and user in self.elementwise

    def allows(self, computations: Sequence[int]) -> bool:
        """Tell whether these are the computations of a plan of this kind."""
        seen: set[int] = set()
        again: set[int] = set()
        for i in computations:
            (again if i in seen else seen).add(i)
        if any(self._sharded.operators[i].role is not Role.FORWARD for i in again):
            return False
        if any(
            j in again and not self.are_together(j, i)
            for i in again
            for j in self._sharded.inputs[i]
        ):
            return False
        return tuple(computations) == recomputing(self._sharded, again)


def is_elementwise(sharded: ShardedGraph, computations: Sequence[int]) -> bool:
    """Tell whether these are the computations of a plan of this kind."""
    return has_reduced_problem(sharded) and ElementwiseRecomputation(sharded).allows(computations)


def recomputing(sharded: ShardedGraph, dropped: Collection[int]) -> tuple[int, ...]:
    """Return the computations, in order, with given values dropped; :math:`O(n + |E|)`.

    Each of them that is needed is computed again right before the first backward operator that
    needs it, together with all dropped values that it needs itself.
    """
    sequence: list[int] = []
    again: set[int] = set()
    for i, operator in enumerate(sharded.operators):
        if operator.role is Role.BACKWARD:
            needed: set[int] = set()
            waiting = list(sharded.inputs[i])
            while waiting:
                j = waiting.pop()
                if j in dropped and j not in again and j not in needed:
                    needed.add(j)
                    waiting.extend(sharded.inputs[j])
            sequence.extend(sorted(needed))
            again |= needed
        sequence.append(i)
    return tuple(sequence)
