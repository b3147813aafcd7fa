"""Milestones of a pass: the operators at which a model looks at memory and time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from jettison.instances.multi_model.sub_array import SubArray, Work


@dataclass(frozen=True)
class Milestones:
    """Milestones of a pass, with the times of the operators before, between and after them.

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
            At least 2. A pass with no more operators is taken whole; else it is split into parts
            over which equally many bytes come or go, and the operator of each part at which most
            is in memory is taken.
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
        """Return the number of the last milestone at or before an operator."""
        return bisect_left(self.places, position + 1) - 1

    def stretch_after(self, position: int) -> int:
        """Return the number of the last milestone before an operator; -1 if there is none."""
        return bisect_left(self.places, position) - 1

    def before_ns(self, milestone: int) -> int:
        """Return the time of the operators before a milestone."""
        return sum(work.run_ns for work in self.works[: self.places[milestone]])

    def from_ns(self, milestone: int) -> int:
        """Return the time of a milestone and of the operators after it."""
        return sum(work.run_ns for work in self.works[self.places[milestone] :])

    def work(self, milestone: int) -> Work:
        """Return the operator of a milestone."""
        return self.works[self.places[milestone]]

    def until_ns(self, milestone: int) -> int:
        """Return the time of the operators after the previous milestone, up to this one."""
        first = self.places[milestone - 1] + 1 if milestone else 0
        return sum(work.run_ns for work in self.works[first : self.places[milestone] + 1])

    def onward_ns(self, milestone: int) -> int:
        """Return the time of the operators from this milestone on, before the next one."""
        return sum(work.run_ns for work in self._onward(milestone))

    def least_active_bytes(self, milestone: int) -> int:
        """Return the pass's least active memory from a milestone's end to the next one's start."""
        return min(work.active_bytes for work in self._onward(milestone))

    def _onward(self, milestone: int) -> tuple[Work, ...]:
        return self.works[self.places[milestone] : (*self.places, len(self.works))[milestone + 1]]


def pass_milestones(profile: SubArray, most: int) -> tuple[Milestones, Milestones]:
    """Return about `most` milestones of the forward and of the backward pass of a sub-array."""
    arrives = [0] * (len(profile.forward) + 1)
    leaves = [0] * len(profile.backward)
    for tensor in profile.tensors:
        arrives[tensor.last_forward + 1] += tensor.size_bytes
        leaves[tensor.first_backward] += tensor.size_bytes
    idle = list(accumulate(arrives))[:-1]
    left = [profile.idle_bytes - gone for gone in accumulate(leaves)]
    return Milestones.of(profile.forward, idle, most), Milestones.of(profile.backward, left, most)
