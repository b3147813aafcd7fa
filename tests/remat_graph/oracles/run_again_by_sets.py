"""Fastest step of every set of forward operators that run again, by counting bytes."""

from __future__ import annotations

from itertools import chain, combinations

from jettison.instances.remat_graph.graph import Graph


def fastest_run_again(graph: Graph, memory_bytes: int) -> int | None:
    """Return the least time of a step within the memory; None if no set fits.

    A recursion runs what is missing before each backward operator, first what comes first in the
    graph; then lives of values are read off the sequence: from a computation to the last reader
    before the next one.
    """
    names = [node.name for node in graph.nodes]
    of = {node.name: node.result_of or node.name for node in graph.nodes}
    late = {node.name: node.backward for node in graph.nodes}
    heads = [name for name in names if of[name] == name and not late[name]]
    subsets = chain.from_iterable(combinations(heads, size) for size in range(len(heads) + 1))
    times = [
        time
        for subset in subsets
        if (time := _time_within(graph, of, late, frozenset(subset), memory_bytes)) is not None
    ]
    return min(times, default=None)


def _time_within(
    graph: Graph,
    of: dict[str, str],
    late: dict[str, bool],
    again: frozenset[str],
    memory_bytes: int,
) -> int | None:
    facts = {node.name: node for node in graph.nodes}
    order = {node.name: place for place, node in enumerate(graph.nodes)}
    family: dict[str, list[str]] = {}
    for name in facts:
        family.setdefault(of[name], []).append(name)
    sequence = [name for name in facts if not late[of[name]]]
    done: set[str] = set()

    def needed(name: str) -> set[str]:
        found: set[str] = set()
        for source in facts[name].inputs:
            head = of[source]
            if head in again and head not in done:
                found |= {head} | needed(head)
        return found

    for name in facts:
        if late[name]:
            for head in sorted(needed(name), key=order.__getitem__):
                done.add(head)
                sequence += family[head]
            sequence.append(name)
    # Results of a second run that nobody reads are not there beyond the run.
    ends: list[int] = []
    for place, name in enumerate(sequence):
        following = [at for at in range(place + 1, len(sequence)) if sequence[at] == name]
        until = following[0] if following else len(sequence)
        readers = [at for at in range(place + 1, until) if name in facts[sequence[at]].inputs]
        kept = facts[name].keep and not following
        ends.append(len(sequence) if kept else max(readers, default=place))
    time = 0
    for place, name in enumerate(sequence):
        room = facts[name].workspace_bytes
        for at in range(place + 1):
            if ends[at] >= place:
                room += facts[sequence[at]].output_bytes
        if room > memory_bytes:
            return None
        time += facts[name].duration_ns
    return time
