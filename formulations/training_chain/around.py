"""Elements and cuts around the cycle of a training step, numbered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Around:
    r"""Elements around the cycle: the gap before each operation :math:`F_1..F_N, B_N..B_1`, and it.

    Cut c is the end of element c: the start of an operation where c is even, its end where it is
    odd.

    Attributes
    ----------
    stages
        Number of stages N.
    """

    stages: int

    @property
    def num_elements(self) -> int:
        """Number of elements, 4 N."""
        return 4 * self.stages

    def is_operation(self, element: int) -> bool:
        """Whether it is an operation, not a gap."""
        return element % 2 == 1

    def is_forward(self, element: int) -> bool:
        """Whether the operation, or the one behind the gap, is a forward one."""
        return element < 2 * self.stages

    def stage_of(self, element: int) -> int:
        """Return the stage of the operation, or of the one behind the gap."""
        place = element // 2
        return place + 1 if place < self.stages else 2 * self.stages - place

    def forward(self, stage: int) -> int:
        r"""Return the element of :math:`F_\ell`."""
        return 2 * stage - 1

    def backward(self, stage: int) -> int:
        r"""Return the element of :math:`B_\ell`."""
        return 2 * (2 * self.stages - stage) + 1

    def after(self, element: int) -> int:
        """Return the next element around the cycle."""
        return (element + 1) % self.num_elements

    def window(self, stage: int) -> tuple[int, ...]:
        r"""Return the elements after :math:`B_\ell` and before :math:`F_\ell`, in order."""
        behind = range(self.backward(stage) + 1, self.num_elements)
        return (*behind, *range(self.forward(stage)))

    def gaps(self, stage: int) -> tuple[int, ...]:
        """Return the gaps of a window."""
        return tuple(element for element in self.window(stage) if not self.is_operation(element))

    def between(self, stage: int) -> range:
        r"""Return the elements after :math:`F_\ell` and before :math:`B_\ell`."""
        return range(self.forward(stage) + 1, self.backward(stage))
