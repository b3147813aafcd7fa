r"""Intervals of the event model: the operations and gaps of a step, and the tensors of each.

Every schedule runs :math:`F^1, \dots, F^N` for the first time and :math:`B^N, \dots, B^1` in this
order. Interval :math:`2e + 1` is the :math:`e`-th of these :math:`2N` operations, counted from 0,
and interval :math:`2e` is the gap before it. State :math:`i` is the start of interval :math:`i`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Part(NamedTuple):
    """Tensor of a chain: ``a``, an activation, or ``s``, all that a stage saves, and the stage."""

    kind: str
    stage: int

    def __str__(self) -> str:
        return f"{self.kind}_{self.stage}"


class Single(NamedTuple):
    """Operation that every schedule runs: the first forward of a stage, or its backward."""

    is_forward: bool
    stage: int


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals and states of a chain of `stages` stages."""

    stages: int

    @property
    def gaps(self) -> range:
        """The intervals before operations."""
        return range(0, 4 * self.stages, 2)

    @property
    def operations(self) -> range:
        """The intervals of operations."""
        return range(1, 4 * self.stages, 2)

    @property
    def tensors(self) -> list[Part]:
        """All tensors: activations from 0, without the loss, and saved values from stage 1."""
        return [
            *(Part("a", k) for k in range(self.stages)),
            *(Part("s", k) for k in range(1, self.stages + 1)),
        ]

    def backward(self, stage: int) -> int:
        """Return the interval of the backward of a stage."""
        return 2 * (2 * self.stages - stage) + 1

    def single(self, operation: int) -> Single:
        """Return the operation of an interval."""
        place = operation // 2
        if place < self.stages:
            return Single(is_forward=True, stage=place + 1)
        return Single(is_forward=False, stage=2 * self.stages - place)

    def states(self, tensor: Part) -> range:
        """Return the states from the end of the first F of a tensor to that of its last B."""
        reader = tensor.stage + 1 if tensor.kind == "a" else tensor.stage
        return range(2 * tensor.stage, self.backward(reader) + 2)

    def held(self, state: int) -> list[Part]:
        """Return the tensors that can be held in a state."""
        return [tensor for tensor in self.tensors if state in self.states(tensor)]

    def moving(self, interval: int) -> list[Part]:
        """Return the tensors that can be held both before and after an interval."""
        return [tensor for tensor in self.held(interval) if interval + 1 in self.states(tensor)]

    def reruns(self, gap: int) -> range:
        """Return the stages of which a forward can run again in a gap."""
        operation = self.single(gap + 1)
        return range(1, operation.stage if operation.is_forward else operation.stage + 1)

    def later_gaps(self, gap: int, end: int, stage: int) -> list[int]:
        """Return the gaps from one of them up to `end` in which a stage can run again."""
        return [later for later in range(gap, end, 2) if stage in self.reruns(later)]

    def inputs(self, stage: int) -> list[Part]:
        """Return the tensors in which an operation of a stage finds the activation below it."""
        below = stage - 1
        return [Part("a", below), *([Part("s", below)] if below else [])]
