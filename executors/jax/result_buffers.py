"""Temporary memory of a step, part of which lies in the buffers of its results.

XLA gives every result of a step, a gradient of a weight say, a buffer of its own from beginning to
end, apart from its temporary memory. Before the result is written, other values are put there if
they fit. XLA's buffer assignment (``xla/service/buffer_assignment.cc``; read in its dumps for CPUs,
JAX 0.10.2) takes the largest values first, and tries the buffer that was made last, the smallest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class _Stay:
    """Stay of a value in memory: from the step that makes it to the last that reads it."""

    size_bytes: int
    first: int
    last: int


def temporary_peak_bytes(
    graph: Graph, computations: Sequence[int], results: Mapping[int, Sequence[int]]
) -> int:
    """Return the most memory that is in use at once, besides the buffers of results.

    Parameters
    ----------
    graph
        The graph, whose results have no bytes.
    computations
        Nodes in the order in which they run; values are freed after their last reader.
    results
        Bytes of the results that a node makes, by its position.

    Notes
    -----
    :math:`O(n b m)` for :math:`n` values, :math:`b` results and :math:`m` values in one buffer.
    """
    stays = _stays(graph, computations)
    written: dict[int, int] = {}
    for step, node in enumerate(computations):
        written.setdefault(node, step)
    # A buffer is free until its result is written; the smallest ones come first.
    buffers = sorted(
        (size, written[node]) for node, sizes in results.items() for size in sizes if size
    )
    inside: list[list[_Stay]] = [[] for _ in buffers]
    change = [0] * (len(computations) + 1)
    for stay in sorted(stays, key=lambda stay: (-stay.size_bytes, stay.first)):
        for (size, end), others in zip(buffers, inside, strict=True):
            if (
                stay.size_bytes <= size
                and stay.last < end
                and all(stay.last < other.first or other.last < stay.first for other in others)
            ):
                others.append(stay)
                break
        else:
            change[stay.first] += stay.size_bytes
            change[stay.last + 1] -= stay.size_bytes
    peak = here = 0
    for difference in change:
        here += difference
        peak = max(peak, here)
    return peak


def _stays(graph: Graph, computations: Sequence[int]) -> list[_Stay]:
    """Return the stays of all values and of what kernels allocate besides them."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    found: list[_Stay] = []

    def ended(node: int) -> None:
        size = graph.nodes[node].output_bytes
        if size:
            found.append(_Stay(size, first[node], last[node]))

    for step, node in enumerate(computations):
        for source in graph.inputs[node]:
            last[source] = step
        if node in first:
            ended(node)
        first[node] = last[node] = step
        if graph.nodes[node].workspace_bytes:
            found.append(_Stay(graph.nodes[node].workspace_bytes, step, step))
    for node in first:
        ended(node)
    return found
