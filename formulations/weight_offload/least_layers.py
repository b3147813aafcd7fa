"""Covers: the least number of layers with a given number of bytes of weights."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Covers:
    """Least number of layers that have to be absent, by the bytes that have to be absent.

    Parameters
    ----------
    sizes
        Sizes of the weights of all layers.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        order = sorted(range(len(sizes)), key=lambda layer: -sizes[layer])
        self.place = {layer: place for place, layer in enumerate(order)}
        self.sums = list(accumulate((sizes[layer] for layer in order), initial=0))

    def least_number(self, layer: int, excess_bytes: int) -> int:
        """Return the least number of layers, `layer` not among them, of that size together."""
        number = bisect_left(self.sums, excess_bytes)
        if number <= self.place[layer]:
            return number
        return bisect_left(self.sums, excess_bytes + self.sizes[layer]) - 1
