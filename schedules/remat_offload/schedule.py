"""Offload schedules: computations on a chain and transfers to the host, and their replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jettison.instances.core.link import Link, Transfers
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)
from jettison.schedules.remat_offload.at_once_replay import AtOnceReplay
from jettison.schedules.remat_offload.fluid_replay import FluidReplay, has_two_phases
from jettison.schedules.remat_offload.shared_replay import SharedLinkReplay
from jettison.schedules.remat_offload.transfer_operation import (
    TransferOperation,
    drops_without_copy,
)


@dataclass(frozen=True, slots=True)
class OffloadSchedule:
    r"""Offload schedule: computations and transfers on a chain, in the order of issue.

    Transfers name :math:`a^\ell` or :math:`\bar a^\ell`, and so does a drop here. A drop that
    names only the stage, as in a `ChainSchedule`, becomes that of the tensor that is in memory.

    Raises
    ------
    InputError
        If something is no operation of a chain and no transfer.
    """

    kind = "offload-schedule"

    operations: tuple[ChainOperation | TransferOperation, ...]

    def __repr__(self) -> str:
        return short_repr(self, "operations", self.operations)

    def __post_init__(self) -> None:
        checked = checked_operations(self.operations, (ChainOperation, TransferOperation))
        object.__setattr__(self, "operations", tuple(_with_named_drops(checked)))

    @property
    def computations(self) -> ChainSchedule:
        """The computations in order, with the drops of tensors that have no copy on the host."""
        lost = drops_without_copy(self.operations)
        drop = ChainOperationKind.DROP
        return ChainSchedule(
            tuple(
                ChainOperation(drop, item.stage) if isinstance(item, TransferOperation) else item
                for position, item in enumerate(self.operations)
                if isinstance(item, ChainOperation) or position in lost
            )
        )

    def replay(
        self,
        chain: Chain,
        link: Link,
        transfers: Transfers = Transfers.AT_ONCE,
        memory_bytes: int | None = None,
    ) -> Replay:
        r"""Execute the schedule in exact integers and name every broken rule.

        Fluid transfers are defined for sequences of two phases (`fluid_replay`). Any other sequence
        is executed with transfers at once, which a fluid link can do as well.

        Parameters
        ----------
        chain
            The instance.
        link
            The link to the host.
        transfers
            Memory model of transfers.
        memory_bytes
            The limit; None to measure only.

        Notes
        -----
        Time :math:`O(n \log n)` at once, :math:`O(n k)` fluid, for n operations of which k are
        offloads.
        """
        if transfers is Transfers.FLUID and has_two_phases(self.operations):
            return FluidReplay(chain, link, memory_bytes).run(self.operations)
        if link.is_shared:
            return SharedLinkReplay(chain, link, memory_bytes).run(self.operations)
        return AtOnceReplay(chain, link, memory_bytes).run(self.operations)


def _with_named_drops(
    operations: Iterable[ChainOperation | TransferOperation],
) -> Iterator[ChainOperation | TransferOperation]:
    """Yield the operations, with the tensor of each drop named."""
    saved: set[int] = set()
    for item in operations:
        named = item
        if item.kind is ChainOperationKind.DROP:
            kind = TensorKind.SAVED if item.stage in saved else TensorKind.PLAIN
            named = TransferOperation.drop(Tensor(kind, item.stage))
        if isinstance(named, TransferOperation):
            if named.tensor.kind is TensorKind.SAVED and named.kind.is_prefetch:
                saved.add(named.stage)
            elif named.tensor.kind is TensorKind.SAVED and named.kind.is_drop:
                saved.discard(named.stage)
        elif named.kind is ChainOperationKind.FORWARD_ALL:
            saved.add(named.stage)
        elif named.kind is ChainOperationKind.FORWARD_NONE:
            saved.discard(named.stage - 1)
        elif named.kind is ChainOperationKind.BACKWARD:
            saved.discard(named.stage)
        yield named
