"""Operations of a multi-model schedule: computations and copies of feature maps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MultiModelAction(StrEnum):
    """Kinds of operations; the first two name an operator, the others a feature map."""

    FORWARD = "F"
    BACKWARD = "B"

    RECOMPUTE = "R"
    """Compute an idle feature map again from its sources."""

    OFFLOAD = "O"
    """Copy it to the host; it leaves memory when the copy is complete."""

    PREFETCH = "P"
    """Bring it back; it takes memory when the copy starts."""

    DISCARD = "D"
    """Drop it from memory, where it has no copy."""

    @property
    def is_computation(self) -> bool:
        """Whether it runs on the queue of computations."""
        return self in {
            MultiModelAction.FORWARD,
            MultiModelAction.BACKWARD,
            MultiModelAction.RECOMPUTE,
        }


@dataclass(frozen=True, slots=True)
class MultiModelOperation:
    """Operation of a multi-model schedule.

    Attributes
    ----------
    action
        Kind of the operation.
    array
        Sub-array of the training unit that it belongs to: 0 or 1.
    position
        Position of the operator in its pass, or of the feature map, as in `SubArray`.
    """

    action: MultiModelAction
    array: int
    position: int

    def __str__(self) -> str:
        return f"{self.action}{self.array + 1} {self.position}"
