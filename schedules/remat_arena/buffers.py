"""Buffers of a graph schedule: what is allocated, how large it is, and from when to when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind


@dataclass(frozen=True, slots=True)
class Buffer:
    """Buffer: bytes that one computation makes, in memory over an interval of computations.

    Attributes
    ----------
    computation
        Place of the computation that makes it, among all computations of the schedule.
    is_workspace
        Whether it is the workspace of that computation, and not its value.
    size_bytes
        Its size.
    start, end
        It is in memory while the computations from `start` to `end`, exclusively, run.
    """

    computation: int
    is_workspace: bool
    size_bytes: int
    start: int
    end: int

    def overlaps(self, other: Buffer) -> bool:
        """Tell whether both are in memory at some time."""
        return self.start < other.end and other.start < self.end


def buffers_of(graph: Graph, operations: Sequence[GraphOperation]) -> tuple[Buffer, ...]:
    """Return the buffers of a valid schedule that have bytes: by computation, values first.

    As the replay counts, a value that is computed while an older copy is in memory is computed
    into a fresh buffer, and the copy is freed right after that. Results of an operator without a
    value have their buffers from the run of the operator on. Those that are dropped are a part of
    its workspace. So the largest sum of buffers at any time is the peak of the replay.

    Time linear in the number of operations.
    """
    computed = [op.node for op in operations if op.kind is GraphOperationKind.COMPUTE]
    starts = _starts(graph, computed)
    ends = _ends(operations, len(computed))
    workspace = [graph.nodes[node].workspace_bytes for node in computed]
    for place, node in enumerate(computed):
        if starts[place] < place:
            workspace[starts[place]] -= graph.nodes[node].output_bytes
    found: list[Buffer] = []
    for place, node in enumerate(computed):
        size_bytes = graph.nodes[node].output_bytes
        if size_bytes:
            found.append(Buffer(place, False, size_bytes, starts[place], ends[place]))
        if workspace[place]:
            found.append(Buffer(place, True, workspace[place], place, place + 1))
    return tuple(found)


def _starts(graph: Graph, computed: Sequence[int]) -> list[int]:
    """For each computation, the first one during which its value is in memory."""
    starts: list[int] = []
    operator_place = -1
    for place, node in enumerate(computed):
        if node in graph.results_after:
            operator_place = place
        starts.append(operator_place if graph.comes_in_a_run(node) else place)
    return starts


def _ends(operations: Iterable[GraphOperation], count: int) -> list[int]:
    """For each computation, the first one during which its value is gone."""
    ends = [count] * count
    holder: dict[int, int] = {}
    place = -1
    for operation in operations:
        if operation.kind is GraphOperationKind.COMPUTE:
            place += 1
            if operation.node in holder:
                ends[holder[operation.node]] = place + 1
            holder[operation.node] = place
        else:
            ends[holder.pop(operation.node)] = place + 1
    return ends


def live_peak_bytes(buffers: Iterable[Buffer], alignment_bytes: int = 1) -> int:
    r"""Return the largest sum of sizes in memory at one time, each rounded up to an alignment.

    No placement of the buffers needs less (the maximum load). :math:`O(n \log n)`.
    """
    change: dict[int, int] = {}
    for buffer in buffers:
        size_bytes = rounded_up(buffer.size_bytes, alignment_bytes)
        change[buffer.start] = change.get(buffer.start, 0) + size_bytes
        change[buffer.end] = change.get(buffer.end, 0) - size_bytes
    live = peak = 0
    for moment in sorted(change):
        live += change[moment]
        peak = max(peak, live)
    return peak


def rounded_up(size_bytes: int, alignment_bytes: int) -> int:
    """Return the least multiple of an alignment that is no less than a size."""
    return -(-size_bytes // alignment_bytes) * alignment_bytes
