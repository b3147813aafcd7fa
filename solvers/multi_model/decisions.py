"""Decisions of a scheduler for one unit: the fate of each feature map, and the interleaving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from jettison.instances.multi_model.sub_array import SubArray


class Fate(StrEnum):
    """Fate of a feature map between its last forward and its first backward use."""

    KEEP = "keep"
    SWAP = "swap"
    RECOMPUTE = "recompute"


@dataclass(frozen=True, slots=True)
class UnitDecisions:
    r"""Decisions for one unit, for which the executor finds the times.

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
        issued in the order of their prompts. Feature maps without a prompt come back just in time.
        Empty if there is no prompt.
    waiting_ns, recompute_ns
        For each sub-array, how long the scheduler expects the device to wait for prefetches, and to
        recompute. Empty where the scheduler does not predict it.
    """

    fates: tuple[tuple[Fate, ...], ...]
    forward_before: tuple[tuple[int, ...], ...] = ()
    prompts: tuple[Mapping[int, int], ...] = ()
    waiting_ns: tuple[int, ...] = ()
    recompute_ns: tuple[int, ...] = ()

    def exchanged(self) -> UnitDecisions:
        """Return the same decisions for the pair with its sub-arrays exchanged."""
        return UnitDecisions(
            self.fates[::-1],
            self.forward_before[::-1],
            self.prompts[::-1],
            self.waiting_ns[::-1],
            self.recompute_ns[::-1],
        )


def least_memory_decisions(arrays: tuple[SubArray, ...]) -> UnitDecisions:
    """Return the decisions of least memory: swap everything, run each backward pass alone first.

    No schedule of the unit needs less: all static memory and the largest peak of an operator are
    in memory at some moment of every schedule.
    """
    return UnitDecisions(
        fates=tuple((Fate.SWAP,) * len(array.tensors) for array in arrays),
        forward_before=tuple((0,) * len(array.backward) for array in arrays)
        if len(arrays) == 2
        else (),
    )
