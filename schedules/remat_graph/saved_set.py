"""Saved sets: schedules that save some forward values and compute the others again, once.

It is what a policy of names can say, ``save_only_these_names`` in JAX. The forward pass runs as it
is. Of its values only the saved ones stay for the backward pass. Each backward operation, in the
order of the graph, first has computed again what it needs and what is not in memory, with all that
this needs in turn, in the order of the graph; what was computed again stays until its last reader,
so that nothing is computed a third time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class SavedSetRun:
    """Measure of a saved set: time and memory of its schedule.

    Attributes
    ----------
    time_ns, peak_bytes
        As the replay of its schedule finds them.
    first_bytes
        For each node the memory of its first computation: what is stored, its output and its
        workspace.
    again_bytes
        Largest memory while something is computed again; 0 if nothing is.
    """

    time_ns: int
    peak_bytes: int
    first_bytes: tuple[int, ...]
    again_bytes: int


def saved_set_computations(graph: Graph, saved: Iterable[int]) -> tuple[int, ...]:
    r"""Return the computations of a saved set, in order.

    Parameters
    ----------
    graph
        A graph whose forward nodes come first, of which each node runs an operator of its own.
    saved
        Positions of forward nodes.

    Raises
    ------
    InputError
        If a backward node comes before a forward node, or a node is a result of another one.

    Notes
    -----
    :math:`O(n \log n + |E|)`.
    """
    backward = check_forward_first(graph)
    there = set(saved)
    computations = list(range(backward))
    for node in range(backward, len(graph)):
        missing: set[int] = set()
        waiting = [node]
        while waiting:
            for source in graph.inputs[waiting.pop()]:
                if source < backward and source not in there and source not in missing:
                    missing.add(source)
                    waiting.append(source)
        computations.extend(sorted(missing))
        there |= missing
        computations.append(node)
    return tuple(computations)


def measure_saved_set(graph: Graph, computations: Sequence[int]) -> SavedSetRun:
    """Return time and memory of computations whose values are freed after their last reader.

    A forward value that is computed twice is freed between its last reader in the forward pass and
    its second computation. :math:`O(n + |E|)`.
    """
    last_read: dict[int, int] = {}
    made_at: dict[int, int] = {}
    for place, node in enumerate(computations):
        for source in graph.inputs[node]:
            last_read[made_at[source]] = place
        made_at[node] = place
    final = set(made_at.values())
    freed: list[list[int]] = [[] for _ in computations]
    for place, node in enumerate(computations):
        if not (graph.nodes[node].keep and place in final):
            freed[last_read.get(place, place)].append(node)
    stored = peak = again = time_ns = 0
    first: list[int] = [0] * len(graph)
    seen = [False] * len(graph)
    for place, position in enumerate(computations):
        run = graph.nodes[position]
        stored += run.output_bytes
        here = stored + run.workspace_bytes
        time_ns += run.duration_ns
        if seen[position]:
            again = max(again, here)
        else:
            seen[position], first[position] = True, here
        peak = max(peak, here)
        stored -= sum(graph.nodes[dead].output_bytes for dead in freed[place])
    return SavedSetRun(time_ns, peak, tuple(first), again)


def check_forward_first(graph: Graph) -> int:
    """Return the number of forward nodes.

    Raises
    ------
    InputError
        As `saved_set_computations` does.
    """
    backward = next((place for place, node in enumerate(graph.nodes) if node.backward), len(graph))
    for place, node in enumerate(graph.nodes):
        if place > backward and not node.backward:
            raise InputError(
                f"{node.name!r} is a forward node after a backward one",
                field=f"nodes[{place}].backward",
                expected="list all forward nodes first: a saved set is about their values",
            )
        if node.result_of is not None:
            raise InputError(
                f"{node.name!r} is a result of {node.result_of!r}",
                field=f"nodes[{place}].result_of",
                expected="give each operator one node with the bytes of all of its results",
            )
    return backward
