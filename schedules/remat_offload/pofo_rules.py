"""Rules that tell the schedules of POFO's class from all others."""

from __future__ import annotations

import math

from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.transfer_operation import TransferOperation


class PofoRules:
    """Watch over POFO's assumption 1: each tensor is offloaded once, and before the loss.

    What is copied before the loss has to leave before it as well: else what runs again after the
    loss could read it first, and the program of POFO has no such value.

    Prefetches wait for all offloads, also while the loss waits between its forward and its
    backward: the program of POFO adds the times of the two, and a schedule in which both directions
    of the link work then can be faster.

    Parameters
    ----------
    loss
        Number of the last stage.
    """

    def __init__(self, loss: int) -> None:
        self._loss = loss
        self._moved: list[TransferOperation] = []
        self._last_offload_ns = 0
        self._first_prefetch_ns = math.inf
        self._forward_end_ns = 0
        self._backward_start_ns = math.inf
        self._drops_in_time = True

    @property
    def kept(self) -> bool:
        """Whether all that was told so far keeps to it."""
        return (
            self._drops_in_time
            and len(self._moved) == len(set(self._moved))
            and self._last_offload_ns <= min(self._backward_start_ns, self._first_prefetch_ns)
            and self._forward_end_ns <= self._first_prefetch_ns
        )

    def compute(self, operation: ChainOperation, start_ns: int, end_ns: int) -> None:
        """Take note of a computation, in the order of the sequence."""
        if operation.stage == self._loss:
            if operation.kind is ChainOperationKind.BACKWARD:
                self._backward_start_ns = start_ns
            else:
                self._forward_end_ns = end_ns

    def drop(self) -> None:
        """Take note of the drop of a tensor that is on the host."""
        if self._backward_start_ns < math.inf:
            self._drops_in_time = False

    def transfer(self, operation: TransferOperation, start_ns: int, end_ns: int) -> None:
        """Take note of an offload or a prefetch."""
        self._moved.append(operation)
        if operation.kind.is_offload:
            self._last_offload_ns = end_ns
        else:
            self._first_prefetch_ns = min(self._first_prefetch_ns, start_ns)
