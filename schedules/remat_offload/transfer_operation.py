"""Operations that move a tensor of a chain between the accelerator and the host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from jettison.schedules.remat_chain.contents import Tensor, TensorKind


class TransferOperationKind(StrEnum):
    r"""Kinds of transfer operations: those of Section 3.1 of POFO, with a separate drop.

    ``O``, ``O_all``
        Offload: copy :math:`a^\ell`, or :math:`\bar a^\ell`, to the host. It stays in memory.
    ``D``, ``D_all``
        Drop it from memory, as soon as nothing reads or copies it any more. What has a copy on the
        host can come back from there; anything else is lost, and has to be computed again.
    ``P``, ``P_all``
        Prefetch: bring it back into memory. The copy on the host stays.
    """

    OFFLOAD = "O"
    OFFLOAD_ALL = "O_all"
    DROP = "D"
    DROP_ALL = "D_all"
    PREFETCH = "P"
    PREFETCH_ALL = "P_all"

    @property
    def is_offload(self) -> bool:
        """Whether it copies to the host."""
        return self in {TransferOperationKind.OFFLOAD, TransferOperationKind.OFFLOAD_ALL}

    @property
    def is_drop(self) -> bool:
        """Whether it only frees memory."""
        return self in {TransferOperationKind.DROP, TransferOperationKind.DROP_ALL}

    @property
    def is_prefetch(self) -> bool:
        """Whether it copies from the host."""
        return self in {TransferOperationKind.PREFETCH, TransferOperationKind.PREFETCH_ALL}


@dataclass(frozen=True, slots=True)
class TransferOperation:
    """Transfer operation on one tensor; stage 0 is the input of the chain."""

    kind: TransferOperationKind
    stage: int

    def __str__(self) -> str:
        return f"{self.kind} {self.stage}"

    @property
    def tensor(self) -> Tensor:
        """The tensor that it moves or drops."""
        return Tensor(TensorKind.SAVED if self._moves_saved else TensorKind.PLAIN, self.stage)

    @property
    def least_stage(self) -> int:
        """Least number of a stage that has such a tensor."""
        return 1 if self._moves_saved else 0

    @property
    def _moves_saved(self) -> bool:
        return self.kind in {
            TransferOperationKind.OFFLOAD_ALL,
            TransferOperationKind.DROP_ALL,
            TransferOperationKind.PREFETCH_ALL,
        }

    @classmethod
    def offload(cls, tensor: Tensor) -> TransferOperation:
        """Return the copy of a tensor to the host."""
        return cls._of(tensor, TransferOperationKind.OFFLOAD, TransferOperationKind.OFFLOAD_ALL)

    @classmethod
    def drop(cls, tensor: Tensor) -> TransferOperation:
        """Return the drop of a tensor from memory."""
        return cls._of(tensor, TransferOperationKind.DROP, TransferOperationKind.DROP_ALL)

    @classmethod
    def prefetch(cls, tensor: Tensor) -> TransferOperation:
        """Return the copy of a tensor from the host."""
        return cls._of(tensor, TransferOperationKind.PREFETCH, TransferOperationKind.PREFETCH_ALL)

    @classmethod
    def _of(
        cls, tensor: Tensor, plain: TransferOperationKind, saved: TransferOperationKind
    ) -> TransferOperation:
        return cls(saved if tensor.kind is TensorKind.SAVED else plain, tensor.stage)


def drops_without_copy(operations: Iterable[object]) -> frozenset[int]:
    """Return the positions of the drops of tensors that have no copy on the host."""
    copied: set[Tensor] = set()
    found: list[int] = []
    for position, item in enumerate(operations):
        if not isinstance(item, TransferOperation):
            continue
        if item.kind.is_offload:
            copied.add(item.tensor)
        elif item.kind.is_drop and item.tensor not in copied:
            found.append(position)
    return frozenset(found)
