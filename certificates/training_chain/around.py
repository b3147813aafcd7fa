r"""Elements around the cycle of a training step: gaps (even) and operations (odd), numbered.

The operations are :math:`F_1, \dots, F_N, B_N, \dots, B_1`, and the gap before each has the number
before it. Cut e is the end of element e.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Around:
    """Elements around the cycle of a step of so many stages."""

    N: int

    @property
    def elements(self) -> range:
        """All elements."""
        return range(4 * self.N)

    @property
    def gaps(self) -> range:
        """All gaps."""
        return range(0, 4 * self.N, 2)

    def is_operation(self, e: int) -> bool:
        """Tell whether it is an operation."""
        return e % 2 == 1

    def is_forward(self, e: int) -> bool:
        """Tell whether it is a forward operation, or the gap before one."""
        return e < 2 * self.N

    def stage_of(self, e: int) -> int:
        """Return the stage of the operation, or of the one behind the gap."""
        return e // 2 + 1 if self.is_forward(e) else 2 * self.N - e // 2

    def forward(self, stage: int) -> int:
        """Return the element of the first forward operation of a stage."""
        return 2 * stage - 1

    def backward(self, stage: int) -> int:
        """Return the element of the backward operation of a stage."""
        return 4 * self.N - 2 * stage + 1

    def window(self, stage: int) -> list[int]:
        """Return the elements behind the backward and before the forward operation, in order."""
        behind = range(self.backward(stage) + 1, 4 * self.N)
        return [*behind, *range(self.forward(stage))]
