"""Checks of the cuts and recomputation slots of models, of graphs and sharded graphs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from jettison.instances.core.errors import InputError
from jettison.schedules.core.schedule_class import ScheduleClass


def check_cuts_and_slots(
    cuts: Sequence[int],
    slots: Sequence[tuple[int, int]],
    valid_for: ScheduleClass,
    expected_cuts: str,
) -> None:
    """Check that cuts ascend from 0 on, that slots are between cuts, and that they hold.

    Raises
    ------
    InputError
        If one of that is not so; `expected_cuts` says what cuts should be.
    """
    if any(earlier >= later for earlier, later in pairwise((-1, *cuts))):
        raise InputError(f"{tuple(cuts)}", field="cuts", expected=expected_cuts)
    classes = (ScheduleClass.STAGED, ScheduleClass.IN_ORDER)
    if valid_for not in classes[: 1 if slots else 2]:
        raise InputError(
            f"{valid_for}", field="valid_for", expected="write staged, or without slots in-order"
        )
    known = set(cuts)
    for t, q in slots:
        if not {t - 1, t} <= known or not 0 <= q < t:
            raise InputError(
                f"({t}, {q})", field="slots", expected=f"make {t - 1} and {t} cuts, and q < t"
            )


def check_within(cuts: Sequence[int], count: int, items: str) -> None:
    """Check that no cut is beyond the last of so many nodes.

    Raises
    ------
    InputError
        If one is; `items` says what the graph has.
    """
    if cuts and cuts[-1] >= count:
        raise InputError(
            f"{cuts[-1]}", field="cuts", expected=f"name {items} of the graph, 0 to {count - 1}"
        )
