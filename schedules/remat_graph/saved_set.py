"""Time and memory of saved sets: what is not saved is computed again, once, as late as it can be.

A saved set is what a policy of names can say, ``save_only_these_names`` in JAX. Its computations
are those of `lazy_schedule`, in which all forward nodes run again that the set does not save and
the backward pass needs; they are of the class saved-or-once, whose bounds hold for them.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        If a backward node comes before a forward node, or a node is a result of another one.
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
