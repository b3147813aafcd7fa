"""Least time of tiny graphs whose operators have several results, by search over sets in memory.

A state is the set of values in memory and what has run. At each moment a value may be dropped, or
an operator run whose inputs are in memory, if it may run again or has not run: that takes what is
there, its workspace and all of its results, of which any set is there afterwards. In the
end every operator has run and the kept values are there. Written from that definition, from the
names in the JSON of a graph: it shares nothing with graphs, schedules, replays or methods.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from typing import Any

Values = frozenset[str]


@dataclass(frozen=True)
class Run:
    """Operator: its needs in bytes, what it reads and makes, and whether it may run again."""

    duration_ns: int
    needed_bytes: int
    inputs: Values
    results: Values
    again: bool


def least_time_of_runs_ns(
    document: Mapping[str, Any], memory_bytes: int, *, staged: bool
) -> int | None:
    """Least time of a schedule within the memory, of staged ones or of all; None if none exists.

    In staged schedules an operator with all of its results is one stage.
    """
    nodes: Sequence[Mapping[str, Any]] = document["nodes"]
    runs = []
    sizes: dict[str, int] = {}
    kept: Values = frozenset()
    for node in nodes:
        made = node.get("results", [node])
        sizes |= {value["name"]: value["output_bytes"] for value in made}
        kept |= {value["name"] for value in made if value.get("keep", False)}
        runs.append(
            Run(
                node["duration_ns"],
                node["workspace_bytes"] + sum(value["output_bytes"] for value in made),
                frozenset(node["inputs"]),
                frozenset(value["name"] for value in made),
                node.get("again", True),
            )
        )
    start: Any = (0, -1) if staged else frozenset()
    finished: Any = (len(runs), -1) if staged else frozenset(range(len(runs)))
    number = count()
    queue: list[tuple[int, int, Values, Any]] = [(0, next(number), frozenset(), start)]
    settled = set()
    while queue:
        time_ns, _, there, progress = heapq.heappop(queue)
        if (there, progress) in settled:
            continue
        settled.add((there, progress))
        if progress == finished and kept <= there:
            return time_ns
        for value in there:
            heapq.heappush(queue, (time_ns, next(number), there - {value}, progress))
        stored_bytes = sum(sizes[value] for value in there)
        for place, after in _next_runs(progress, len(runs), staged):
            run = runs[place]
            if not run.again and _has_run(progress, place):
                continue
            if run.inputs <= there and stored_bytes + run.needed_bytes <= memory_bytes:
                for some in _subsets(run.results):
                    held = there | some
                    heapq.heappush(queue, (time_ns + run.duration_ns, next(number), held, after))
    return None


def _next_runs(progress: Any, runs: int, staged: bool) -> Iterator[tuple[int, Any]]:
    """Yield each operator that may run next, and the progress after it."""
    if not staged:
        yield from ((place, progress | {place}) for place in range(runs))
        return
    frontier, previous = progress
    if frontier < runs:
        yield from ((place, (frontier, place)) for place in range(previous + 1, frontier))
        yield frontier, (frontier + 1, -1)


def _has_run(progress: Any, place: int) -> bool:
    return place < progress[0] if isinstance(progress, tuple) else place in progress


def _subsets(values: Values) -> Iterator[Values]:
    for number in range(len(values) + 1):
        yield from map(frozenset, combinations(sorted(values), number))
