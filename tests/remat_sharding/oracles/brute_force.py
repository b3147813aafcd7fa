"""Brute force for checkpointing and sharding together: every choice of strategies is tried.

Nothing is shared with the package but the instance: durations, sizes, lifetimes and the memory of
every moment are worked out here. For graphs of about six operators.

Rules: parameters stay from their place in the order on and, like inputs, are computed once; a value
that is kept is in memory at the end; followers take the strategy of what they follow.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import NamedTuple

from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


class Priced(NamedTuple):
    """The operators under one choice of strategies."""

    strategies: tuple[int, ...]
    times_ns: tuple[int, ...]
    sizes_bytes: tuple[int, ...]


class Plan(NamedTuple):
    """A best plan: what it takes, its strategies, and which operators it computes, in order."""

    time_ns: int
    strategies: tuple[int, ...]
    computations: tuple[int, ...]


class Shape(NamedTuple):
    """Facts that do not depend on the strategies."""

    inputs: tuple[tuple[int, ...], ...]
    users: tuple[tuple[int, ...], ...]
    roles: tuple[Role, ...]
    kept: tuple[bool, ...]


def shape_of(sharded: ShardedGraph) -> Shape:
    place = {operator.name: position for position, operator in enumerate(sharded.operators)}
    inputs = tuple(tuple(place[name] for name in operator.inputs) for operator in sharded.operators)
    users = tuple(
        tuple(j for j, read in enumerate(inputs) if i in read) for i in range(len(inputs))
    )
    return Shape(
        inputs,
        users,
        tuple(operator.role for operator in sharded.operators),
        tuple(operator.keep or operator.role is Role.PARAMETER for operator in sharded.operators),
    )


def priced_choices(sharded: ShardedGraph) -> list[Priced]:
    """Return every allowed choice of strategies, the fastest one first."""
    choices = product(*(range(len(operator.strategies)) for operator in sharded.operators))
    found = [priced for choice in choices if (priced := _priced(sharded, choice)) is not None]
    return sorted(found, key=lambda priced: sum(priced.times_ns))


def _priced(sharded: ShardedGraph, choice: Sequence[int]) -> Priced | None:
    place = {operator.name: position for position, operator in enumerate(sharded.operators)}
    times_ns = []
    for operator, k in zip(sharded.operators, choice, strict=True):
        strategy = operator.strategies[k]
        if strategy.compute_ns is None:
            return None
        if operator.follows is not None and choice[place[operator.follows]] != k:
            return None
        times_ns.append(strategy.compute_ns + strategy.communication_ns)
    for table in sharded.resharding:
        source, target = place[table.source], place[table.target]
        cost_ns = table.cost_ns[choice[source]][choice[target]]
        if cost_ns is None:
            return None
        times_ns[target] += cost_ns
    sizes = tuple(
        operator.strategies[k].memory_bytes
        for operator, k in zip(sharded.operators, choice, strict=True)
    )
    return Priced(tuple(choice), tuple(times_ns), sizes)


def best_staged_plan(sharded: ShardedGraph, memory_bytes: int) -> Plan | None:
    """Return a fastest staged plan within the memory; None if there is none.

    Stage t computes operator t for the first time, and before it any of the earlier operators
    again, ascending; values may be freed at any time.
    """
    shape = shape_of(sharded)
    best: Plan | None = None
    for priced in priced_choices(sharded):
        if best is not None and sum(priced.times_ns) >= best.time_ns:
            break
        found = _best_staged(shape, priced, memory_bytes, None if best is None else best.time_ns)
        if found is not None:
            best = Plan(found[0], priced.strategies, found[1])
    return best


def _best_staged(
    shape: Shape, priced: Priced, memory_bytes: int, below_ns: int | None
) -> tuple[int, tuple[int, ...]] | None:
    """Dijkstra over (next operator, last one computed again in this stage, values in memory)."""
    length = len(priced.times_ns)
    kept = {i for i in range(length) if shape.kept[i]}
    number = count()
    start = (0, -1, frozenset[int]())
    queue = [(0, next(number), start, ())]
    settled = set()
    while queue:
        time_ns, _, state, done = heapq.heappop(queue)
        if state in settled:
            continue
        settled.add(state)
        stage, last, resident = state
        if stage == length:
            if kept <= resident:
                return time_ns, done
            continue
        following = [
            (time_ns, (stage, last, resident - {i}), done)
            for i in resident
            if shape.roles[i] is not Role.PARAMETER
        ]
        for i in range(last + 1, stage + 1):
            again = i < stage
            if again and (i in resident or shape.roles[i] in {Role.PARAMETER, Role.INPUT}):
                continue
            if not resident.issuperset(shape.inputs[i]):
                continue
            stored = resident | {i}
            if sum(priced.sizes_bytes[j] for j in stored) > memory_bytes:
                continue
            state = (stage, i, stored) if again else (stage + 1, -1, stored)
            following.append((time_ns + priced.times_ns[i], state, (*done, i)))
        for cost_ns, state, computed in following:
            if state not in settled and (below_ns is None or cost_ns < below_ns):
                heapq.heappush(queue, (cost_ns, next(number), state, computed))
    return None


def staged_memory(
    sharded: ShardedGraph,
    strategies: Sequence[int],
    computed: Sequence[Sequence[int]],
    stored: Sequence[Sequence[int]],
) -> dict[tuple[int, int], int]:
    """Return the bytes in memory at each moment (stage, k) of a staged plan, k <= stage.

    Parameters
    ----------
    sharded, strategies
        The instance, and the place of each operator's strategy.
    computed
        For each stage the operators that it computes.
    stored
        For each stage the values that are in memory when it begins, and once more for the end.

    What a stage computes or reads it frees after its last use in the stage, unless the next stage
    begins with it. What it only stores stays to its end. A value that is computed while it is in
    memory stands there twice.
    """
    shape = shape_of(sharded)
    priced = _priced(sharded, strategies)
    assert priced is not None
    found = {}
    for stage, runs in enumerate(computed):
        bytes_now = sum(priced.sizes_bytes[i] for i in stored[stage])
        for k in range(stage + 1):
            if k in runs:
                assert all(i in runs or i in stored[stage] for i in shape.inputs[k])
                bytes_now += priced.sizes_bytes[k]
            found[stage, k] = bytes_now
            if k in runs:
                for i in {*shape.inputs[k], k}:
                    used_later = any(j in runs for j in shape.users[i] if j > k)
                    if not used_later and i not in stored[stage + 1]:
                        bytes_now -= priced.sizes_bytes[i]
    return found


def best_reduced_plan(sharded: ShardedGraph, memory_bytes: int) -> Plan | None:
    """Return a fastest plan within the memory under KIWI's three simplifications, or None.

    Of the forward operators that a backward one reads, any set in which no one reads another is
    computed again, each once, right before its first backward user. All of them is then in memory
    beside the output of that user, and stays for its other users; in the forward pass it is freed
    after its last forward user. Every other value stays until nothing reads it any more.
    """
    shape = shape_of(sharded)
    choices = priced_choices(sharded)
    best: Plan | None = None
    for again in recomputable_sets(shape):
        lifetimes = lifetimes_of(shape, again)
        together = {frozenset(step) for step in lifetimes}
        for priced in choices:
            time_ns = sum(priced.times_ns) + sum(priced.times_ns[i] for i in again)
            if best is not None and time_ns >= best.time_ns:
                continue
            if all(sum(priced.sizes_bytes[i] for i in step) <= memory_bytes for step in together):
                best = Plan(time_ns, priced.strategies, _computations(shape, again))
    return best


def recomputable_sets(shape: Shape) -> Iterator[frozenset[int]]:
    """Yield the sets of operators that the simplifications allow to be computed again."""
    candidates = [
        i
        for i, role in enumerate(shape.roles)
        if role is Role.FORWARD and any(shape.roles[j] is Role.BACKWARD for j in shape.users[i])
    ]
    for chosen in product((False, True), repeat=len(candidates)):
        again = frozenset(i for i, is_chosen in zip(candidates, chosen, strict=True) if is_chosen)
        if not any(again.intersection(shape.inputs[i]) for i in again):
            yield again


def lifetimes_of(shape: Shape, again: frozenset[int]) -> list[set[int]]:
    """For each operator return what is in memory when it has run and nothing is freed yet."""
    steps = [set[int]() for _ in shape.inputs]
    for i, users in enumerate(shape.users):
        # Whoever reads i, and at which step: an operator at its own place, and if it is computed
        # again, at the step of its first backward user.
        reads = {i, *users}
        reads |= {_first_backward_user(shape, j) for j in users if j in again}
        if shape.kept[i]:
            reads.add(len(steps) - 1)
        if i in again:
            first = _first_backward_user(shape, i)
            before = {step for step in reads if shape.roles[step] is not Role.BACKWARD}
            before = {step for step in before if step in {i, *users}}
            spans = [(i, max(before)), (first, max(reads))]
        else:
            spans = [(i, max(reads))]
        for start, end in spans:
            for step in range(start, end + 1):
                steps[step].add(i)
    return steps


def _first_backward_user(shape: Shape, i: int) -> int:
    return min(j for j in shape.users[i] if shape.roles[j] is Role.BACKWARD)


def _computations(shape: Shape, again: frozenset[int]) -> tuple[int, ...]:
    order = []
    for t in range(len(shape.inputs)):
        order += sorted(i for i in again if _first_backward_user(shape, i) == t)
        order.append(t)
    return tuple(order)
