"""Least time of tiny graphs whose operators have several results, by search over sets in memory.

A state is the set of values in memory and what has run. At each moment a value may be dropped, or
an operator run whose inputs are in memory: that takes what is there, its workspace and its value,
if it has one; of its results, which are part of the workspace, any set is there afterwards. In the
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
    """Operator: what it reads, and the bytes of what it makes; the workspace includes results."""

    duration_ns: int
    workspace_bytes: int
    inputs: Values
    own: Values
    results: Values


def least_time_of_runs_ns(
    document: Mapping[str, Any], memory_bytes: int, *, staged: bool
) -> int | None:
    """Least time of a schedule within the memory, of staged ones or of all; None if none exists.

    In staged schedules an operator with all of its results is one stage.
    """
    nodes: Sequence[Mapping[str, Any]] = document["nodes"]
    sizes = {node["name"]: node["output_bytes"] for node in nodes}
    kept = frozenset(node["name"] for node in nodes if node["keep"])
    runs = []
    for node in nodes:
        if "result_of" not in node:
            has_value = node.get("has_value", True)
            made = frozenset(n["name"] for n in nodes if n.get("result_of") == node["name"])
            inputs = frozenset(node["inputs"])
            own = frozenset([node["name"]] if has_value else [])
            runs.append(Run(node["duration_ns"], node["workspace_bytes"], inputs, own, made))
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
            own_bytes = sum(sizes[value] for value in run.own)
            needed_bytes = stored_bytes + own_bytes + run.workspace_bytes
            if run.inputs <= there and needed_bytes <= memory_bytes:
                for some in _subsets(run.results):
                    held = there | run.own | some
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


def _subsets(values: Values) -> Iterator[Values]:
    for number in range(len(values) + 1):
        yield from map(frozenset, combinations(sorted(values), number))
