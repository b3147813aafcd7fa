"""Events of a cyclic schedule: computations and transfers of weights, with start times."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CyclicEventKind(StrEnum):
    """Kinds of events that happen to a layer in a period.

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
    """Event of a cyclic schedule, which starts at the same time of every period.

    Attributes
    ----------
    kind
        Kind of the event.
    layer
        Number of the layer, from 1.
    start_ns
        Start time, from the start of the period.
    """

    kind: CyclicEventKind
    layer: int
    start_ns: int

    def __str__(self) -> str:
        return f"{self.kind} {self.layer}"
