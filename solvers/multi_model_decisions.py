"""What is decided of a unit: the fate of each feature map, and how two passes interleave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from jettison.instances.sub_array import SubArray


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
        as soon as there is memory; those that are not named, so late that they are just in time.
        Empty if none is named.
    """

    fates: tuple[tuple[Fate, ...], ...]
    forward_before: tuple[tuple[int, ...], ...] = ()
    prompts: tuple[Mapping[int, int], ...] = ()


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
