"""Classes of idle feature maps in the bound: kept, moved or recomputed, and in which round."""

from __future__ import annotations

from enum import StrEnum


class TensorPath(StrEnum):
    """Classes of feature maps, by their life from the last forward use to the first backward use.

    The first of the list that fits is meant. A pair trains the forward and the backward pass of a
    sub-array in two rounds; *the boundary* is between them. A sub-array alone has one round: what
    it does not keep, it recomputes (at any time) or swaps, and the other classes do not exist.

    ``recompute``
        It is recomputed in the round of the backward pass.
    ``redo``
        It is recomputed in the round of the forward pass, and stays from the boundary on.
    ``redo_swap``
        It is recomputed there, and does not stay: a prefetch brings it in the backward's round.
    ``swap``
        It is offloaded in the round of the forward pass, and prefetched in that of the backward.
    ``late``
        It leaves memory in the backward's round, after an offload in that round, and a prefetch
        brings it back: without an offload before the boundary it has never left till then.
    ``early``
        It leaves memory in the forward's round, is back at the boundary by a prefetch, and stays.
    ``keep``
        It never leaves.
    """

    RECOMPUTE = "recompute"
    REDO = "redo"
    REDO_SWAP = "redo_swap"
    SWAP = "swap"
    LATE = "late"
    EARLY = "early"
    KEEP = "keep"


OF_A_PAIR = tuple(TensorPath)
OF_ONE = (TensorPath.RECOMPUTE, TensorPath.SWAP, TensorPath.KEEP)

IN_ALL_FORWARD = (TensorPath.LATE, TensorPath.KEEP)
"""Classes in memory throughout the forward pass's round, once the tensor is idle."""

IN_FORWARD_OR_OFFLOADED = (TensorPath.SWAP, TensorPath.LATE, TensorPath.EARLY, TensorPath.KEEP)
"""Classes in memory then or away after an offload: the tensor is not recomputed."""

AT_THE_BOUNDARY = (TensorPath.REDO, TensorPath.LATE, TensorPath.EARLY, TensorPath.KEEP)
"""Classes in memory between the two rounds."""

IN_ALL_BACKWARD = (TensorPath.REDO, TensorPath.EARLY, TensorPath.KEEP)
"""Classes in memory throughout the backward pass's round, until the tensor is used."""

IN_BACKWARD_OR_PREFETCHED = tuple(path for path in TensorPath if path is not TensorPath.RECOMPUTE)
"""Classes in memory then or waiting for a prefetch."""

OFFLOADED_IN_FORWARD = (TensorPath.SWAP, TensorPath.EARLY)
OFFLOADED_IN_BACKWARD = (TensorPath.LATE,)
PREFETCHED_IN_FORWARD = (TensorPath.EARLY,)
PREFETCHED_IN_BACKWARD = (TensorPath.REDO_SWAP, TensorPath.SWAP, TensorPath.LATE)
RECOMPUTED_IN_FORWARD = (TensorPath.REDO, TensorPath.REDO_SWAP)
RECOMPUTED_IN_BACKWARD = (TensorPath.RECOMPUTE,)

CARRIED_IN_FORWARD = {TensorPath.SWAP: 1, TensorPath.EARLY: 2}
"""How often tensors of a class are copied after their last forward use, in that round."""

CARRIED_IN_BACKWARD = {TensorPath.REDO_SWAP: 1, TensorPath.SWAP: 1, TensorPath.LATE: 2}
"""How often tensors of a class are copied before their first backward use, in that round."""
