"""3-PARTITION by trying everything; shares no code with what it checks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def has_three_partition(values: Sequence[int], target: int) -> bool:
    """Tell whether the values fall into triples of sum `target`.

    The largest value needs two partners; each pair of the rest that fits is tried. Sets of values
    that failed are not tried again. Exponential: up to eight groups.
    """
    failed: set[tuple[int, ...]] = set()

    def fits(left: tuple[int, ...]) -> bool:
        if not left:
            return True
        if left in failed:
            return False
        pairs = itertools.combinations(range(1, len(left)), 2)
        tried = set()
        for second, third in pairs:
            if left[0] + left[second] + left[third] != target or left[second] in tried:
                continue
            tried.add(left[second])
            if fits(left[1:second] + left[second + 1 : third] + left[third + 1 :]):
                return True
        failed.add(left)
        return False

    return fits(tuple(sorted(values, reverse=True)))


def has_group_partition(values: Sequence[int], target: int) -> bool:
    """Tell whether the values fall into groups of any size that sum to `target`."""
    if not values:
        return True
    first, rest = values[0], list(range(1, len(values)))
    for size in range(len(rest) + 1):
        for chosen in itertools.combinations(rest, size):
            if first + sum(values[item] for item in chosen) == target and has_group_partition(
                [values[item] for item in rest if item not in chosen], target
            ):
                return True
    return False
