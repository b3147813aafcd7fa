"""Operations that copy a value of a graph between the device and the host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ValueTransferKind(StrEnum):
    """Kinds of transfers of a value.

    ``offload``
        Copy the value to the host. It stays in memory until it is freed.
    ``prefetch``
        Bring it back into memory from its copy on the host, which stays there.
    """

    OFFLOAD = "offload"
    PREFETCH = "prefetch"


@dataclass(frozen=True, slots=True)
class ValueTransfer:
    """Transfer of the value of one node, given by its position in the graph, counted from 0."""

    kind: ValueTransferKind
    node: int

    @property
    def is_offload(self) -> bool:
        """Whether it copies to the host."""
        return self.kind is ValueTransferKind.OFFLOAD
