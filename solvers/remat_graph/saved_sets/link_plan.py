"""Transfers of offloaded values beside the first computations of a step."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.offloaded_set import (
    OffloadedSet,
    Transfer,
    offloaded_computations,
)


@dataclass(frozen=True, slots=True)
class Window:
    """Window of a transfer: the first and the last node beside which it may move, and its time."""

    value: int
    begin: int
    end: int
    duration_ns: int


def plan_transfers(
    graph: Graph,
    saved: frozenset[int],
    offloaded: frozenset[int],
    link: Link,
    windows: Mapping[int, tuple[int, int | None]] | None = None,
) -> OffloadedSet | int:
    r"""Return an offloaded set with transfers, or a node at which one would have had to be over.

    Parameters
    ----------
    graph
        A graph whose forward nodes come first.
    saved, offloaded
        The sets; what the backward pass does not need does not move.
    link
        The link.
    windows
        For each offloaded value the last node beside which it may leave, and the first one beside
        which it may come back. By default values leave as soon as they can, in the order of the
        graph, and come back as late as they can.

    Notes
    -----
    Within windows the transfer that has to end first goes first, which finds transfers wherever
    there are any. :math:`O(n \log n)` beside the computations.
    """
    backward = sum(not node.backward for node in graph.nodes)
    needed = _first_needed(graph, saved, offloaded)
    moving = sorted(needed)
    times = {value: link.transfer_ns(graph.nodes[value].output_bytes) for value in moving}
    ends = dict.fromkeys(moving, backward - 1)
    begins: dict[int, int] = dict.fromkeys(moving, backward)
    if windows is not None:
        for value in moving:
            end, begin = windows[value]
            # As long as the forward pass reads it, it is there in any case.
            readers = [user for user in graph.users[value] if user < backward]
            ends[value] = max([end, *readers])
            begins[value] = needed[value] if begin is None else begin
    out = _earliest_deadline_first(
        graph, [Window(i, i + 1, ends[i], times[i]) for i in moving], range(backward)
    )
    if isinstance(out, int):
        return out
    comes = [Window(i, begins[i], needed[i] - 1, times[i]) for i in moving]
    if windows is None:
        back = _latest(graph, comes, backward)
    else:
        back = _earliest_deadline_first(graph, comes, range(backward, len(graph)))
    if isinstance(back, int):
        return back
    return OffloadedSet(saved=saved, offloaded=frozenset(moving), out=tuple(out), back=tuple(back))


def _first_needed(graph: Graph, saved: frozenset[int], offloaded: frozenset[int]) -> dict[int, int]:
    """Return for each offloaded value the backward node before which it is read."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    backward = sum(not node.backward for node in graph.nodes)
    for node in offloaded_computations(graph, saved, offloaded)[backward:]:
        waiting += [source for source in graph.inputs[node] if source in offloaded]
        if node >= backward:
            for value in waiting:
                found.setdefault(value, node)
            waiting = []
    return found


def _earliest_deadline_first(
    graph: Graph, windows: Sequence[Window], nodes: range
) -> list[Transfer] | int:
    """Return transfers within windows, or the end of one that cannot be met."""
    left = {item.value: item.duration_ns for item in windows}
    coming = sorted(windows, key=lambda item: (item.begin, item.value), reverse=True)
    ready: list[tuple[int, int]] = []
    found: list[Transfer] = []
    for node in nodes:
        while coming and coming[-1].begin <= node:
            item = coming.pop()
            if item.duration_ns:
                heapq.heappush(ready, (item.end, item.value))
        free_ns = graph.nodes[node].duration_ns
        while ready and free_ns:
            end, value = ready[0]
            if end < node:
                return max(end, nodes.start)
            used_ns = min(free_ns, left[value])
            found.append(Transfer(value, node, used_ns))
            free_ns -= used_ns
            left[value] -= used_ns
            if not left[value]:
                heapq.heappop(ready)
    late = [item.end for item in windows if left[item.value]]
    return max(min(late), nodes.start) if late else found


def _latest(graph: Graph, windows: Sequence[Window], first: int) -> list[Transfer] | int:
    """Return transfers that are as late as they can be, the one that is read last is the last."""
    left = {item.value: item.duration_ns for item in windows}
    coming = sorted(windows, key=lambda item: (item.end, item.value))
    ready: list[tuple[int, int]] = []
    found: list[Transfer] = []
    for node in range(len(graph) - 1, first - 1, -1):
        while coming and coming[-1].end >= node:
            item = coming.pop()
            if item.duration_ns:
                heapq.heappush(ready, (-item.end, item.value))
        free_ns = graph.nodes[node].duration_ns
        while ready and free_ns:
            _, value = ready[0]
            used_ns = min(free_ns, left[value])
            found.append(Transfer(value, node, used_ns))
            free_ns -= used_ns
            left[value] -= used_ns
            if not left[value]:
                heapq.heappop(ready)
    late = [item.end for item in windows if left[item.value]]
    return max(min(late), first) if late else found[::-1]
