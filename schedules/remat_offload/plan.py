"""What a plan of POFO decides: what is computed in which order, and which tensors are offloaded."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.schedules.remat_chain.contents import Tensor
from jettison.schedules.remat_chain.schedule import ChainSchedule


@dataclass(frozen=True, slots=True)
class OffloadPlan:
    """A schedule without the times and places of its transfers.

    Each tensor leaves after its last use before the first backward operation, and comes back for
    its first use after it.

    Attributes
    ----------
    computations
        In order.
    offloaded
        Tensors that are in memory when the first backward operation starts; their order has no
        meaning.
    """

    computations: ChainSchedule
    offloaded: tuple[Tensor, ...]
