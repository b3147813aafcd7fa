"""Covers and blocks: how many whole layers have to be absent, by the bytes that have to be."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
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


class Blocks:
    """Blocks, the layers of the most frequent size, and what the other layers are worth in them.

    Parameters
    ----------
    sizes
        Sizes of the weights of all layers, not all of them 0.

    Attributes
    ----------
    block_bytes
        The most frequent size; of several, the largest.
    others
        Layers of another size that is not 0, counted from 0.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        counts = Counter(size for size in sizes if size)
        self.sizes = sizes
        self.block_bytes = max(counts, key=lambda size: (counts[size], size))
        self.others = [
            layer for layer, size in enumerate(sizes) if size and size != self.block_bytes
        ]

    def least(self, excess_bytes: int) -> int:
        """Return how many blocks are at least so large together."""
        return -(-excess_bytes // self.block_bytes)

    def worth(self, other: int, excess_bytes: int) -> int:
        """Return how many of the `least` blocks the layer `other` replaces, at most.

        A single other layer is looked at with this excess, several count as they are.
        """
        if len(self.others) == 1:
            return self.least(excess_bytes) - self.least(excess_bytes - self.sizes[other])
        return self.least(self.sizes[other])
