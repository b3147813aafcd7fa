"""Operators of a pass at which a model looks at memory and time, and the stretches between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from jettison.instances.multi_model.sub_array import Work


@dataclass(frozen=True)
class Milestones:
    """Some operators of a pass, with the times of what lies before, between and after them.

    Attributes
    ----------
    places
        Positions of the operators, ascending; the first and the last operator are among them.
    works
        The pass.
    """

    places: tuple[int, ...]
    works: tuple[Work, ...]

    @classmethod
    def of(cls, works: tuple[Work, ...], idle_bytes: Sequence[int], most: int) -> Milestones:
        """Choose about `most` operators where memory is short.

        Parameters
        ----------
        works
            The pass.
        idle_bytes
            Feature maps that are idle while each operator runs, if all are kept.
        most
            At least 2. A pass with no more operators is taken whole; else it is cut into pieces
            over which as many bytes come or go, and the fullest operator of each is taken.
        """
        count = len(works)
        if count <= most:
            return cls(tuple(range(count)), works)
        pieces = max(1, most - 2)
        moved = list(accumulate(abs(b - a) for a, b in pairwise([0, *idle_bytes])))
        limits = [bisect_left(moved, moved[-1] * piece / pieces) for piece in range(pieces + 1)]
        chosen = {0, count - 1}
        for first, end in pairwise(limits):
            if first < end:
                chosen.add(
                    max(range(first, end), key=lambda p: idle_bytes[p] + works[p].peak_bytes)
                )
        return cls(tuple(sorted(chosen)), works)

    def __len__(self) -> int:
        return len(self.places)

    def stretch_from(self, position: int) -> int:
        """Return the last milestone that is not after an operator."""
        return bisect_left(self.places, position + 1) - 1

    def stretch_after(self, position: int) -> int:
        """Return the last milestone that is before an operator; -1 if none is."""
        return bisect_left(self.places, position) - 1

    def before_ns(self, milestone: int) -> int:
        """Return the time of the operators before a milestone."""
        return sum(work.run_ns for work in self.works[: self.places[milestone]])

    def from_ns(self, milestone: int) -> int:
        """Return the time of a milestone and of the operators after it."""
        return sum(work.run_ns for work in self.works[self.places[milestone] :])

    def work(self, milestone: int) -> Work:
        """Return the operator."""
        return self.works[self.places[milestone]]

    def until_ns(self, milestone: int) -> int:
        """Return the time of what lies behind the milestone before it, its own included."""
        first = self.places[milestone - 1] + 1 if milestone else 0
        return sum(work.run_ns for work in self.works[first : self.places[milestone] + 1])

    def onward_ns(self, milestone: int) -> int:
        """Return its own time and that of what lies before the next milestone."""
        return sum(work.run_ns for work in self._onward(milestone))

    def least_active_bytes(self, milestone: int) -> int:
        """Return the least memory of the pass between the end of a milestone and the next one."""
        return min(work.active_bytes for work in self._onward(milestone))

    def _onward(self, milestone: int) -> tuple[Work, ...]:
        return self.works[self.places[milestone] : (*self.places, len(self.works))[milestone + 1]]
