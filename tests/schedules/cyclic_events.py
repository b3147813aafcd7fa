"""Cyclic schedules written as text."""

from __future__ import annotations

import re

from jettison.schedules.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.cyclic_schedule import CyclicSchedule


def cyclic(period_ns: int, text: str) -> CyclicSchedule:
    """Read ``"B2@0, prefetch1@3"`` as a schedule: kind and layer, and when it starts."""
    return CyclicSchedule(
        period_ns,
        tuple(
            CyclicEvent(CyclicEventKind(kind), int(layer), int(start))
            for kind, layer, start in re.findall(r"([A-Za-z]+)(\d+)@(\d+)", text)
        ),
    )
