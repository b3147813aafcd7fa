"""Brute force over plans in which elementwise operators are recomputed together.

Every set of forward operators is tried in which no product of matrices has a neighbour. What a
backward operator misses is computed right before it, with what that misses in turn; a value is in
memory from each computation of it to the last use before the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from tests.remat_sharding.oracles.brute_force import Plan, Shape, priced_choices, shape_of

PRODUCT = "dot"


def best_elementwise_plan(sharded: ShardedGraph, memory_bytes: int) -> Plan | None:
    """Return a fastest plan within the memory, or None."""
    choices = priced_choices(sharded)
    best: Plan | None = None
    for again in recomputable_sets(sharded):
        order = computations(shape_of(sharded), again)
        for priced in choices:
            time_ns = sum(priced.times_ns[i] for i in order)
            if best is not None and time_ns >= best.time_ns:
                continue
            if peak_of(shape_of(sharded), priced.sizes_bytes, order) <= memory_bytes:
                best = Plan(time_ns, priced.strategies, order)
    return best


def recomputable_sets(sharded: ShardedGraph) -> Iterator[frozenset[int]]:
    """Yield the sets all of which is needed, and in which a product touches nothing.

    Where nothing is a product, nothing touches at all.
    """
    shape = shape_of(sharded)
    forward = [i for i, role in enumerate(shape.roles) if role is Role.FORWARD]
    is_product = {i: sharded.operators[i].operation == PRODUCT for i in forward}
    for chosen in product((False, True), repeat=len(forward)):
        again = frozenset(i for i, is_chosen in zip(forward, chosen, strict=True) if is_chosen)
        touching = [(j, i) for i in again for j in shape.inputs[i] if j in again]
        if any(is_product[j] or is_product[i] for j, i in touching):
            continue
        if touching and not any(is_product.values()):
            continue
        if len(computations(shape, again)) == len(shape.roles) + len(again):
            yield again


def computations(shape: Shape, again: frozenset[int]) -> tuple[int, ...]:
    order: list[int] = []
    missing = set(again)
    for t, role in enumerate(shape.roles):
        if role is Role.BACKWARD:
            group: set[int] = set()
            reached = set(shape.inputs[t])
            while reached:
                i = reached.pop()
                if i in missing:
                    missing.remove(i)
                    group.add(i)
                    reached |= set(shape.inputs[i])
            order += sorted(group)
        order.append(t)
    return tuple(order)


def peak_of(shape: Shape, sizes_bytes: tuple[int, ...], order: tuple[int, ...]) -> int:
    """Return the most bytes in memory at once, each value being there as briefly as can be."""
    at = [0] * len(order)
    for place, i in enumerate(order):
        later = [later for later in range(place + 1, len(order)) if order[later] == i]
        end = later[0] if later else len(order)
        last = max((q for q in range(place, end) if i in shape.inputs[order[q]]), default=place)
        if shape.kept[i] and not later:
            last = len(order) - 1
        for q in range(place, last + 1):
            at[q] += sizes_bytes[i]
    return max(at)
