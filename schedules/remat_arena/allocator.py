"""Allocators at run time: addresses chosen without knowledge of what comes, and what they cost.

A schedule asks an allocator for its buffers as the step runs: at each computation first for the
value, or the results of the run, then for the workspace, which is given back first. An allocator
knows nothing of what will be asked, so that its memory may lie in pieces that are too small. An
address plan (`AddressedSchedule`) is made before the step with all of that known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from jettison.schedules.remat_arena.buffers import Buffer, live_peak_bytes


class AllocationError(Exception):
    """Error of an allocator that cannot serve a request within its limit."""


class Allocator(Protocol):
    """Allocator that serves requests one after the other.

    Attributes
    ----------
    peak_bytes
        The most bytes that it has held of the device at one time.
    """

    peak_bytes: int

    def allocate(self, size_bytes: int) -> int:
        """Serve a request of at least one byte, and return a number by which it is freed.

        Raises
        ------
        AllocationError
            If it has a limit and cannot.
        """
        ...

    def free(self, number: int) -> None:
        """Take back what was served."""
        ...


@dataclass(frozen=True, slots=True)
class Allocation:
    """Allocation of a whole schedule by an allocator.

    Attributes
    ----------
    held_peak_bytes
        The most bytes that the allocator held of the device.
    live_peak_bytes
        The most bytes that the schedule had in memory: the peak of its replay.
    refused_at
        The place of the computation that could not be served, None if all were.
    """

    held_peak_bytes: int
    live_peak_bytes: int
    refused_at: int | None = None

    @property
    def fits(self) -> bool:
        """Whether everything was served."""
        return self.refused_at is None

    @property
    def waste_bytes(self) -> int:
        """Bytes held above the peak: by rounding, and by fragmentation."""
        return self.held_peak_bytes - self.live_peak_bytes


def allocate(buffers: Sequence[Buffer], allocator: Allocator) -> Allocation:
    """Run the requests of a schedule's buffers through an allocator that has served nothing yet."""
    count = max((item.end for item in buffers), default=0)
    asked: list[list[int]] = [[] for _ in range(count)]
    freed: list[list[int]] = [[] for _ in range(count + 1)]
    for index, buffer in enumerate(buffers):
        asked[buffer.start].append(index)
        freed[buffer.end].append(index)
    numbers: dict[int, int] = {}
    live_bytes = live_peak_bytes(buffers)
    for place in range(count):
        _give_back(freed[place], numbers, allocator)
        for index in sorted(asked[place], key=lambda item: buffers[item].is_workspace):
            try:
                numbers[index] = allocator.allocate(buffers[index].size_bytes)
            except AllocationError:
                return Allocation(allocator.peak_bytes, live_bytes, place)
        # The workspace goes first, before values that were read for the last time.
        workspaces = [item for item in asked[place] if buffers[item].is_workspace]
        _give_back(workspaces, numbers, allocator)
    return Allocation(allocator.peak_bytes, live_bytes)


def _give_back(indices: Sequence[int], numbers: dict[int, int], allocator: Allocator) -> None:
    for index in indices:
        if index in numbers:
            allocator.free(numbers.pop(index))
