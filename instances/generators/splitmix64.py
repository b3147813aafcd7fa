"""SplitMix64, a random number generator that is the same on every machine and Python version.

All draws are derived here from its 64-bit words, not by `random.Random`, whose methods may change.
Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import TypeVar

_MASK = 2**64 - 1
_Item = TypeVar("_Item")


class SplitMix64:
    """A stream of random integers; `state` is any integer from 0 to 2**64 - 1."""

    def __init__(self, state: int) -> None:
        self._state = state & _MASK

    def word(self) -> int:
        """Return the next 64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, limit: int) -> int:
        """Return an integer from 0 to `limit` - 1, each equally likely; 1 <= limit <= 2**64."""
        # Words beyond the last full multiple of the limit would favour small results.
        most = (_MASK + 1) // limit * limit
        while True:
            word = self.word()
            if word < most:
                return word % limit

    def between(self, least: int, most: int) -> int:
        """Return an integer from `least` to `most`, both included."""
        return least + self.below(most - least + 1)

    def choice(self, items: Sequence[_Item]) -> _Item:
        """Return one of the items."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[_Item]) -> None:
        """Put the items in random order (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
