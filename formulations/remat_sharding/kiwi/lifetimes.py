"""Lifetimes of values in KIWI's reduced problem, part by part: when they are in memory, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.reduced_recomputation import ReducedRecomputation

# Kinds of parts of a lifetime besides the moment up to which a value waits.
ALWAYS, STORED = -1, -2


class Part(NamedTuple):
    """Part of a lifetime.

    Attributes
    ----------
    first, last
        The moments.
    kind
        `ALWAYS`; `STORED` where it is there unless it is computed again; or the moment up to which
        the value waits, for a user that is computed again then or later.
    """

    first: int
    last: int
    kind: int


def waits_of(
    sharded: ShardedGraph, moments: ReducedRecomputation
) -> dict[int, dict[int, list[int]]]:
    """Return, by operator and by each moment up to which it may wait, the users that it waits for.

    Moments ascend. Those users are computed again at the moment or later.
    """
    waits: dict[int, dict[int, list[int]]] = {}
    again_at = moments.again_at
    for i, users in enumerate(sharded.users):
        live = moments.last_use[i]
        late = [j for j in users if j in again_at and again_at[j] > live]
        until = sorted({again_at[j] for j in late})
        waits[i] = {q: [j for j in late if again_at[j] >= q] for q in until}
    return waits


def lifetimes(
    sharded: ShardedGraph,
    moments: ReducedRecomputation,
    waits: Mapping[int, Mapping[int, Sequence[int]]],
) -> list[list[Part]]:
    """Return the parts of the lifetime of each operator, those without a moment left out."""
    return [
        [part for part in _parts(sharded, moments, i, waits[i]) if part.first <= part.last]
        for i in range(len(sharded))
    ]


def moments_that_count(parts: Sequence[Sequence[Part]], sharded: ShardedGraph) -> list[int]:
    """Return the moments whose values are not all still there at the next one."""
    count = len(sharded)
    present: list[set[tuple[int, int]]] = [set() for _ in range(count)]
    for i, of_operator in enumerate(parts):
        if not any(strategy.memory_bytes for strategy in sharded.operators[i].strategies):
            continue
        for part in of_operator:
            for t in range(part.first, part.last + 1):
                present[t].add((i, part.kind))
    return [t for t in range(count) if t + 1 == count or not _is_within(present[t], present[t + 1])]


def _parts(
    sharded: ShardedGraph, moments: ReducedRecomputation, i: int, waits: Mapping[int, object]
) -> Iterator[Part]:
    end = min(moments.last_use[i], len(sharded) - 1)
    if i in moments.again_at:
        last_forward = moments.last_forward_use[i]
        again = moments.again_at[i]
        yield Part(i, last_forward, ALWAYS)
        yield Part(last_forward + 1, again - 1, STORED)
        yield Part(again, end, ALWAYS)
    else:
        yield Part(i, end, ALWAYS)
    for q in waits:
        yield Part(end + 1, q, q)
        end = q


def _is_within(now: set[tuple[int, int]], following: set[tuple[int, int]]) -> bool:
    """Whether all that is in memory now is there at the next moment too, as much at least."""
    return all(part in following or (part[0], ALWAYS) in following for part in now)
