"""Kernels in the order of a plan: how Inductor's fusion and scheduling are held to it.

Inductor joins operators that read the same values into one kernel, and orders kernels anew. Across
a matrix product both undo a plan: what was to be computed after the product moves before it, or
the reverse, and values that were never to be in memory together are. Measured on a llama-like
model in half of the memory, a kernel of two halves of a gated product, joined across the products
that they belong to, takes 1.3 times the peak of the plan.

The operators between two calls of libraries (products, convolutions, attention: what Inductor does
not generate) are a *segment*. Here kernels are joined within a segment only, and run in the order
of the graph, unless another order that Inductor knows is estimated to need less memory.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from torch._inductor import memory as inductor_memory
from torch._inductor.choices import InductorChoices
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet


class PlanChoices(InductorChoices):
    """Inductor's choices, with kernels that are not joined across segments."""

    def __init__(self) -> None:
        super().__init__()
        self._scheduler: Any = None
        self._segment_of: dict[str, int] = {}

    def uuid(self) -> Any | None:
        """Return no key: what is compiled for a plan is not cached."""
        return None

    # A static method there, which is called on an instance.
    def can_fuse(self, scheduler: Any, node1: Any, node2: Any, shared_data_score: int) -> bool:
        """Tell whether two kernels may be one: they are in one segment, and Inductor agrees."""
        if scheduler is not self._scheduler:
            self._scheduler, self._segment_of = scheduler, segments_of(scheduler.nodes)
        # Kernels of multi-output and foreach nodes that are made later have no segment.
        segments = {
            self._segment_of.get(part.get_name(), -1)
            for node in (node1, node2)
            for part in node.get_nodes()
        }
        return len(segments) == 1 and InductorChoices.can_fuse(
            scheduler, node1, node2, shared_data_score
        )


def segments_of(nodes: Sequence[Any]) -> dict[str, int]:
    """Return the number of the segment of each operation: how many library calls precede it."""
    place_of = _places()
    parts = [part for node in nodes for part in node.get_nodes()]
    places = {part.get_name(): _place(part, place_of) for part in parts}
    calls = sorted(
        places[part.get_name()] for part in parts if part.is_extern() or part.is_template()
    )
    return {name: bisect_left(calls, place) for name, place in places.items()}


def in_order_of_plan(nodes: list[Any]) -> list[Any]:
    """Return kernels in the order of the graph, or in one of Inductor's if that needs less.

    For `_post_fusion_custom_pass`, in the place of ``reorder_for_peak_memory``.
    """
    scheduler: Any = V.graph.scheduler
    names = (
        nodes,
        scheduler.name_to_buf,
        scheduler.name_to_fused_node,
        OrderedSet(V.graph.graph_inputs.keys()),
        OrderedSet(V.graph.get_output_names()),
    )
    reordered = inductor_memory.reorder_for_peak_memory(*names)
    _, freeable = inductor_memory.prepare_planning_info(*names)
    planned = _listed(nodes)

    def peak(order: list[Any]) -> int:
        return int(inductor_memory.estimate_peak_memory(order, freeable, names[-1])[0])

    return planned if peak(planned) <= peak(reordered) else reordered


def _listed(nodes: list[Any]) -> list[Any]:
    """Return nodes in topological order, the first in the graph first among those that are ready.

    Their predecessors are known (``prepare_planning_info``).
    """
    place_of = _places()
    number = {node: at for at, node in enumerate(nodes)}
    waits_for = {node: len(node.mpi_node.pred_nodes) for node in nodes}
    ready = [(_place(node, place_of), number[node], node) for node in nodes if waits_for[node] == 0]
    heapq.heapify(ready)
    found = []
    while ready:
        *_, node = heapq.heappop(ready)
        found.append(node)
        for after in node.mpi_node.succ_nodes:
            waits_for[after] -= 1
            if waits_for[after] == 0:
                heapq.heappush(ready, (_place(after, place_of), number[after], after))
    return found


def _places() -> dict[Any, int]:
    graph: Any = V.graph
    return {node: place for place, node in enumerate(graph.graph.nodes)}


def _place(node: Any, place_of: dict[Any, int]) -> int:
    """Return the place in the graph of the last operator that a kernel computes, or -1."""
    return max(
        (
            place_of[origin]
            for part in node.get_nodes()
            if part.node is not None
            for origin in part.node.get_origins()
            if origin in place_of
        ),
        default=-1,
    )
