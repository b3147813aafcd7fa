"""Addressed schedules: graph schedules with a place in one arena for every buffer."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import checked_amount
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Replay, Rule
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.remat_arena.buffers import (
    Buffer,
    buffers_of,
    live_peak_bytes,
    rounded_up,
)
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)


@dataclass(frozen=True)
class ArenaReplay(Replay):
    """Verdict of a replay with addresses; the peak is the end of the highest block.

    Attributes
    ----------
    live_peak_bytes
        Largest sum of the buffers at one time: the peak where addresses do not matter.
    aligned_peak_bytes
        The same with sizes rounded up to the alignment of the plan: no plan has a lower peak.
    buffers
        What was placed; empty where the sequence itself breaks a rule.
    """

    live_peak_bytes: int = 0
    aligned_peak_bytes: int = 0
    buffers: tuple[Buffer, ...] = ()

    @property
    def remark(self) -> str:
        """Remark on the peak: what is live, and what addresses add to that."""
        return (
            f" of an arena ({self.live_peak_bytes} live, "
            f"{self.aligned_peak_bytes - self.live_peak_bytes} of rounding, "
            f"{self.fragmentation_bytes} of fragmentation)"
        )

    @property
    def fragmentation_bytes(self) -> int:
        """Bytes of the arena above the largest sum of rounded sizes."""
        return self.peak_bytes - self.aligned_peak_bytes


@dataclass(frozen=True, slots=True)
class AddressedSchedule:
    """Addressed schedule: operations, and where each computation puts its buffers.

    Attributes
    ----------
    operations
        Computations and deletions, as in a `GraphSchedule`.
    value_offsets, workspace_offsets
        For each computation, in order, the first byte of its value and of its workspace in the
        arena; 0 where it has none.
    alignment_bytes
        Offsets are multiples of it, and each buffer takes a multiple of it.

    Raises
    ------
    InputError
        If the offsets are no amounts or not as many as the computations, or the alignment is
        below 1.
    """

    kind = "addressed-schedule"

    operations: tuple[GraphOperation, ...]
    value_offsets: tuple[int, ...]
    workspace_offsets: tuple[int, ...]
    alignment_bytes: int = 1

    def __repr__(self) -> str:
        return short_repr(self, "operations", self.operations)

    def __post_init__(self) -> None:
        object.__setattr__(self, "operations", GraphSchedule(self.operations).operations)
        count = sum(item.kind is GraphOperationKind.COMPUTE for item in self.operations)
        for field in ("value_offsets", "workspace_offsets"):
            offsets = tuple(getattr(self, field))
            object.__setattr__(self, field, offsets)
            if len(offsets) != count:
                raise InputError(
                    f"{len(offsets)} offsets for {count} computations",
                    field=field,
                    expected="give one for each computation, 0 where there are no bytes",
                )
            for place, offset in enumerate(offsets):
                checked_amount(offset, f"{field}[{place}]", "bytes")
        checked_amount(self.alignment_bytes, "alignment_bytes", "bytes")
        if not self.alignment_bytes:
            raise InputError("0", field="alignment_bytes", expected="write at least 1")

    @classmethod
    def of(
        cls,
        schedule: GraphSchedule,
        offsets: Mapping[Buffer, int],
        alignment_bytes: int = 1,
    ) -> AddressedSchedule:
        """Return a schedule with an address for each of its buffers (`buffers_of`)."""
        count = len(schedule.computations)
        values, workspaces = [0] * count, [0] * count
        for buffer, offset in offsets.items():
            (workspaces if buffer.is_workspace else values)[buffer.computation] = offset
        return cls(schedule.operations, tuple(values), tuple(workspaces), alignment_bytes)

    @property
    def without_addresses(self) -> GraphSchedule:
        """The computations and deletions alone."""
        return GraphSchedule(self.operations)

    def offset_of(self, buffer: Buffer) -> int:
        """Return the first byte of a buffer."""
        offsets = self.workspace_offsets if buffer.is_workspace else self.value_offsets
        return offsets[buffer.computation]

    def replay(self, graph: Graph, memory_bytes: int | None = None) -> ArenaReplay:
        r"""Execute the sequence in exact integers, and put each buffer where the plan says.

        The rules are those of `GraphSchedule.replay`, but for the memory: each buffer takes its
        block, its size rounded up to the alignment, as long as it lives (`buffers_of`). Blocks that
        are in memory at one time must not overlap, must begin at multiples of the alignment, and
        must end within the memory. Where the sequence itself breaks a rule, only that is told.

        Parameters
        ----------
        graph
            The instance.
        memory_bytes
            The bytes of the arena; None to measure only.

        Notes
        -----
        :math:`O(n \log n + n k)` for `n` operations and `k` blocks at one time, the latter for
        insertions into a sorted list.
        """
        judged = self.without_addresses.replay(graph)
        if not judged.valid:
            return ArenaReplay(
                steps=judged.steps,
                peak_bytes=judged.peak_bytes,
                limit_bytes=memory_bytes,
                violations=judged.violations,
                schedule_class=judged.schedule_class,
                live_peak_bytes=judged.peak_bytes,
            )
        buffers = buffers_of(graph, self.operations)
        positions = [
            position
            for position, item in enumerate(self.operations)
            if item.kind is GraphOperationKind.COMPUTE
        ]
        findings = Findings()
        arena = _Arena(memory_bytes, self.alignment_bytes, findings)
        for buffer in sorted(buffers, key=lambda item: item.start):
            name = graph.nodes[self.operations[positions[buffer.computation]].node].name
            position = positions[buffer.start]
            by = graph.nodes[self.operations[position].node].name
            findings.at(position, f"{GraphOperationKind.COMPUTE} {by}")
            what = f"workspace of {name}" if buffer.is_workspace else name
            arena.place(buffer, self.offset_of(buffer), what)
        return ArenaReplay(
            steps=judged.steps,
            peak_bytes=arena.peak_bytes,
            limit_bytes=memory_bytes,
            violations=findings.violations,
            schedule_class=judged.schedule_class,
            live_peak_bytes=judged.peak_bytes,
            aligned_peak_bytes=live_peak_bytes(buffers, self.alignment_bytes),
            buffers=buffers,
        )


class _Arena:
    """Blocks in memory, in the order of their addresses, while buffers come by their starts.

    Attributes
    ----------
    peak_bytes
        The end of the highest block so far.
    """

    def __init__(self, limit_bytes: int | None, alignment_bytes: int, findings: Findings) -> None:
        self.peak_bytes = 0
        self._limit_bytes = limit_bytes
        self._alignment_bytes = alignment_bytes
        self._findings = findings
        # First byte, end, and name of each block in memory, ascending; and when they leave.
        self._blocks: list[tuple[int, int, str]] = []
        self._leaving: list[tuple[int, tuple[int, int, str]]] = []

    def place(self, buffer: Buffer, offset: int, name: str) -> None:
        """Free the blocks that have left by now, and place a buffer, with all it breaks."""
        while self._leaving and self._leaving[0][0] <= buffer.start:
            self._blocks.remove(heapq.heappop(self._leaving)[1])
        end = offset + rounded_up(buffer.size_bytes, self._alignment_bytes)
        if offset % self._alignment_bytes:
            self._findings.broken(Rule.MISALIGNED, name)
        # Blocks do not overlap until the first violation, so that neighbours tell all.
        at = bisect.bisect_left(self._blocks, (offset,))
        for first, last, other in self._blocks[max(at - 1, 0) : at + 1]:
            if first < end and offset < last:
                self._findings.broken(Rule.ADDRESS_TAKEN, f"{name} (by {other})")
        if self._limit_bytes is not None and end > self._limit_bytes:
            self._findings.broken(Rule.OUT_OF_MEMORY, name, end - self._limit_bytes)
        self.peak_bytes = max(self.peak_bytes, end)
        block = (offset, end, name)
        self._blocks.insert(at, block)
        heapq.heappush(self._leaving, (buffer.end, block))
