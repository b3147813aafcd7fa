"""What is decided of a unit: the fate of each feature map, and how two passes interleave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from jettison.instances.multi_model.sub_array import SubArray


class Fate(StrEnum):
    """Where a feature map is between its last forward and its first backward use."""

    KEEP = "keep"
    SWAP = "swap"
    RECOMPUTE = "recompute"


@dataclass(frozen=True, slots=True)
class UnitDecisions:
    r"""What a scheduler decides of one unit; the executor finds the times.

    Attributes
    ----------
    fates
        For each sub-array, the fate of each feature map.
    forward_before
        Of a pair, for each round and each backward operator: how many forward operators of the
        other sub-array run before it; it never decreases. The others run after the last backward
        operator. Empty for a sub-array alone.
    prompts
        For each sub-array, backward operators after which feature maps are prefetched, by position,
        as soon as there is memory, and -1 for the beginning of the backward pass; prefetches are
        issued in the order of their prompts. Those that are not named come back so late that they
        are just in time. Empty if none is named.
    waiting_ns, recompute_ns
        For each sub-array, for how long the scheduler expects the device to wait for prefetches,
        and to compute again. Empty where it does not say.
    """

    fates: tuple[tuple[Fate, ...], ...]
    forward_before: tuple[tuple[int, ...], ...] = ()
    prompts: tuple[Mapping[int, int], ...] = ()
    waiting_ns: tuple[int, ...] = ()
    recompute_ns: tuple[int, ...] = ()

    def exchanged(self) -> UnitDecisions:
        """Return the same decisions for a pair whose sub-arrays stand in the other order."""
        return UnitDecisions(
            self.fates[::-1],
            self.forward_before[::-1],
            self.prompts[::-1],
            self.waiting_ns[::-1],
            self.recompute_ns[::-1],
        )


def least_memory_decisions(arrays: tuple[SubArray, ...]) -> UnitDecisions:
    """Swap everything, and end each backward pass before the forward pass begins.

    It takes the least memory that any schedule of the unit takes: all static memory and the
    largest peak, which is some moment's in every schedule.
    """
    return UnitDecisions(
        fates=tuple((Fate.SWAP,) * len(array.tensors) for array in arrays),
        forward_before=tuple((0,) * len(array.backward) for array in arrays)
        if len(arrays) == 2
        else (),
    )
