"""Cycles of layers in four numbers each, and cyclic schedules written as text."""

from __future__ import annotations

import re

from jettison.instances.weight_offload.cycle import WeightCycle
from jettison.weight_offload import CyclicEvent, CyclicEventKind, CyclicSchedule
from tests.weight_offload.layers import weight_chain


def cyclic(period_ns: int, text: str) -> CyclicSchedule:
    """Read ``"B2@0, prefetch1@3"`` as a schedule: kind and layer, and when it starts."""
    return CyclicSchedule(
        period_ns,
        tuple(
            CyclicEvent(CyclicEventKind(kind), int(layer), int(start))
            for kind, layer, start in re.findall(r"([A-Za-z]+)(\d+)@(\d+)", text)
        ),
    )


def layers(*rows: tuple[int, int, int, int]) -> WeightCycle:
    """Build a cycle of (forward ns, backward ns, saved bytes, weight bytes) per layer."""
    return WeightCycle(weight_chain(*rows))
