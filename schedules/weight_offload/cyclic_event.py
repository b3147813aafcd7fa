"""What happens in a step that repeats: computations and transfers of weights, by start time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CyclicEventKind(StrEnum):
    """What happens to a layer at a moment of the cycle.

    ``F``, ``B``
        Its forward or backward operation starts.
    ``prefetch``
        Its weights start on their way from the host; their memory is taken.
    ``upload``
        Its weights start on their way to the host; they stay in memory.
    ``delete``
        Its weights leave memory.
    """

    FORWARD = "F"
    BACKWARD = "B"
    PREFETCH = "prefetch"
    UPLOAD = "upload"
    DELETE = "delete"

    @property
    def is_computation(self) -> bool:
        """Whether it occupies the processor."""
        return self in {CyclicEventKind.FORWARD, CyclicEventKind.BACKWARD}

    @property
    def is_transfer(self) -> bool:
        """Whether it occupies the link."""
        return self in {CyclicEventKind.PREFETCH, CyclicEventKind.UPLOAD}


@dataclass(frozen=True, slots=True)
class CyclicEvent:
    """Something that starts at a moment of every period.

    Attributes
    ----------
    kind
        What starts.
    layer
        Of which layer, from 1.
    start_ns
        When, from the start of the period.
    """

    kind: CyclicEventKind
    layer: int
    start_ns: int

    def __str__(self) -> str:
        return f"{self.kind} {self.layer}"
