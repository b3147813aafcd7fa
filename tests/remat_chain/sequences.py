"""Sequences on chains, written as text, and layers on which their amounts are derived."""

from __future__ import annotations

from functools import partial

from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from tests.drawing.chains import stage_of

layer = partial(stage_of, forward_ns=1, backward_ns=10, output_bytes=2, saved_bytes=3)
LOSS = stage_of("loss", 1, 10, 0, 1)


def sequence(text: str) -> ChainSchedule:
    """Read a sequence such as ``F_ck 1, F_none 2, D 0``."""
    words = [operation.split() for operation in text.split(",")]
    return ChainSchedule(
        tuple(ChainOperation(ChainOperationKind(kind), int(stage)) for kind, stage in words)
    )
