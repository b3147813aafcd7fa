"""Fastest offloaded set of a tiny graph, by all sets and all windows of all transfers.

A value leaves beside the forward nodes from its own to some node, and comes back beside the
backward nodes from some node to its first reader. Transfers with such windows fit beside the nodes
if and only if, for each run of nodes, those whose windows lie in it take no longer than it does.
Memory is counted anew at each computation. It shares no code with what it checks.
"""

from __future__ import annotations

from itertools import product

from jettison import Graph


def fastest_offloaded_ns(graph: Graph, memory_bytes: int, bytes_per_ns: int) -> int | None:
    """Return the least time of an offloaded set that fits; None if none does."""
    nodes = graph.nodes
    count = sum(not node.backward for node in nodes)
    best: int | None = None
    for words in product("soa", repeat=count):
        if any(word == "o" and nodes[i].keep for i, word in enumerate(words)):
            continue
        run = _sequence(graph, words, count)
        time_ns = sum(nodes[i].duration_ns for i in run)
        if best is not None and time_ns >= best:
            continue
        if _fits(graph, words, run, count, memory_bytes, bytes_per_ns):
            best = time_ns
    return best


def _reads(graph: Graph, i: int) -> list[int]:
    names = [node.name for node in graph.nodes]
    return [names.index(name) for name in graph.nodes[i].inputs]


def _sequence(graph: Graph, words: tuple[str, ...], count: int) -> list[int]:
    run, there = list(range(count)), {i for i in range(count) if words[i] != "a"}

    def needs(i: int) -> set[int]:
        missing = {j for j in _reads(graph, i) if j < count and j not in there}
        return missing.union(*(needs(j) for j in missing))

    for t in range(count, len(graph.nodes)):
        extra = sorted(needs(t))
        there.update(extra)
        run += [*extra, t]
    return run


def _fits(
    graph: Graph, words: tuple[str, ...], run: list[int], count: int, memory: int, rate: int
) -> bool:
    nodes, total = graph.nodes, len(graph.nodes)
    first = {i: run.index(i) for i in range(total)}
    moving = []
    for i in range(count):
        reads = [p for p in range(count, len(run)) if i in _reads(graph, run[p])]
        if words[i] == "o" and reads:
            before = [t for t in range(count, total) if first[t] < reads[0]]
            moving.append((i, -(-nodes[i].output_bytes // rate), before))
    outs = [range(i, count) for i, _, _ in moving]
    backs = [[*before, None] for _, _, before in moving]
    for ends in product(*outs):
        windows = [(i + 1, end, ns) for (i, ns, _), end in zip(moving, ends, strict=True)]
        if not _is_schedulable(graph, windows):
            continue
        for begins in product(*backs):
            if any(begin is None and ns for begin, (_, ns, _) in zip(begins, moving, strict=True)):
                continue
            comes = [
                (begin, before[-1], ns)
                for begin, (_, ns, before) in zip(begins, moving, strict=True)
                if begin is not None
            ]
            if _is_schedulable(graph, comes):
                gone = {i: end for (i, _, _), end in zip(moving, ends, strict=True)}
                here = {i: begin for (i, _, _), begin in zip(moving, begins, strict=True)}
                if _peak(graph, run, count, words, first, gone, here) <= memory:
                    return True
    return False


def _is_schedulable(graph: Graph, windows: list[tuple[int, int, int]]) -> bool:
    total = len(graph.nodes)
    for low in range(total):
        for high in range(low - 1, total):
            inside = sum(ns for a, b, ns in windows if low <= a and b <= high)
            if inside > sum(graph.nodes[t].duration_ns for t in range(low, high + 1)):
                return False
    return True


def _peak(
    graph: Graph,
    run: list[int],
    count: int,
    words: tuple[str, ...],
    first: dict[int, int],
    gone: dict[int, int],
    here: dict[int, int | None],
) -> int:
    nodes, most = graph.nodes, 0
    for now in range(len(run)):
        stored = nodes[run[now]].workspace_bytes
        for made in range(now + 1):
            i = run[made]
            again = next((p for p in range(made + 1, len(run)) if run[p] == i), len(run))
            reads = [p for p in range(made + 1, again) if i in _reads(graph, run[p])]
            if i in gone:
                reads = [p for p in reads if p < count] + [first[gone[i]]]
            end = max([made, *reads])
            if nodes[i].keep and again == len(run):
                end = len(run)
            stored += nodes[i].output_bytes if end >= now else 0
        for i, begin in here.items():
            reads = [p for p in range(count, len(run)) if i in _reads(graph, run[p])]
            if begin is not None and first[begin] <= now <= reads[-1]:
                stored += nodes[i].output_bytes
        most = max(most, stored)
    return most
