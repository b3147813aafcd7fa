"""Moments of `KiwiElementwise`: the computations at which its rows count memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.elementwise_recomputation import ElementwiseRecomputation


class Moment(NamedTuple):
    """A computation: the first one of `t`, or a repeated one of `again` right before `t`."""

    t: int
    again: int | None = None


def moments_of(computations: Sequence[int]) -> list[Moment]:
    """Return the moment of each computation of a plan."""
    found: list[Moment] = []
    t = 0
    for i in computations:
        found.append(Moment(t) if i == t else Moment(t, i))
        t += i == t
    return found


def every_moment(sharded: ShardedGraph) -> frozenset[Moment]:
    """Return all moments at which something may be computed; :math:`O(n^2)` of them."""
    again = ElementwiseRecomputation(sharded).recomputable
    backward = [i for i, item in enumerate(sharded.operators) if item.role is Role.BACKWARD]
    return frozenset(Moment(t, i) for t in backward for i in (None, *again))
