"""Offload plan of POFO: the order of computations, and the tensors to offload."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.schedules.remat_chain.contents import Tensor
from jettison.schedules.remat_chain.schedule import ChainSchedule


@dataclass(frozen=True, slots=True)
class OffloadPlan:
    """Offload plan: an offload schedule without the times and positions of its transfers.

    Each tensor leaves after its last use before the first backward operation, and comes back for
    its first use after it.

    Attributes
    ----------
    computations
        The computations in order.
    offloaded
        Tensors to offload, in any order: some of those that `computations` holds in memory when
        the first backward operation starts.
    """

    computations: ChainSchedule
    offloaded: tuple[Tensor, ...]
