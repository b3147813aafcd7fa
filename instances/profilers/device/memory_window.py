"""Memory window: the memory in use while one operation runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class MemoryWindow:
    """Bytes allocated when an operation starts, at its peak, and when it ends.

    All three count from the same unspecified level, so that only differences mean something.

    Attributes
    ----------
    reserved_bytes
        On a GPU the most that the allocator holds of its memory, in blocks that are in use and in
        the rests between them; None elsewhere.
    """

    start_bytes: int = 0
    peak_bytes: int = 0
    end_bytes: int = 0
    reserved_bytes: int | None = None

    @property
    def rise_bytes(self) -> int:
        """Peak above the start."""
        return self.peak_bytes - self.start_bytes

    @property
    def kept_bytes(self) -> int:
        """Bytes that stay allocated after the operation; negative if it frees more than that."""
        return self.end_bytes - self.start_bytes
