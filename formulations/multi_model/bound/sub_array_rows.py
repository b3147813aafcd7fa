"""Columns of one sub-array in the bound on a training unit, and sums of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.multi_model.bound import tensor_path as paths
from jettison.formulations.multi_model.bound.columns import Terms
from jettison.formulations.multi_model.bound.milestones import pass_milestones
from jettison.formulations.multi_model.bound.tensor_path import TensorPath
from jettison.instances.multi_model.sub_array import SubArray

# Significant bits of the bytes that copies move in a unit of time.
_RATE_BITS = 20
# Copies that move more than this in the model are as good as instant.
_LARGEST_RATE = 2**20


class BoundSubArray:
    """Sub-array in the bound: its tensors that can leave memory, and the milestones of its passes.

    Parameters
    ----------
    place
        0 or 1: the position within the unit.
    profile
        The sub-array.
    swap_ns
        Times of the copies of its tensors.
    shared_ns
        For each tensor, the time in which both directions of a shared link together carry its
        bytes, rounded down; empty where the directions are independent.
    milestones
        About how many of each pass.
    memory, time
        Scales of the model.
    """

    def __init__(
        self,
        place: int,
        profile: SubArray,
        swap_ns: tuple[int, ...],
        shared_ns: tuple[int, ...],
        milestones: int,
        memory: IntegerScale,
        time: IntegerScale,
    ) -> None:
        self.place = place
        self.profile = profile
        tensors = profile.tensors
        self.forward, self.backward = pass_milestones(profile, milestones)
        self.movable = [place for place, tensor in enumerate(tensors) if tensor.size_bytes]
        self._bytes = [memory.to_model(tensor.size_bytes) for tensor in tensors]
        self._swap = [time.to_model(duration) for duration in swap_ns]
        self.is_shared = bool(shared_ns)
        self._shared = [time.to_model(duration) for duration in shared_ns]
        # What a swap takes of the link if nothing else is carried: an offload, then a prefetch.
        self._there_and_back = [
            max(alone, 2 * shared)
            for alone, shared in itertools.zip_longest(self._swap, self._shared, fillvalue=0.0)
        ]
        self._recompute = [time.to_model(tensor.recompute_ns) for tensor in tensors]
        # Where a tensor lies: the milestone of its last forward operator or the one before that,
        # and the last milestone before its first backward operator, counted from 1.
        self.from_forward = [self.forward.stretch_from(tensor.last_forward) for tensor in tensors]
        self.until_backward = [
            self.backward.stretch_after(tensor.first_backward) + 1 for tensor in tensors
        ]
        unit = time.unit * time.factor
        rates = {
            place: Fraction(self._bytes[place]) * unit / swap_ns[place]
            for place in self.movable
            if swap_ns[place] and self._bytes[place] * unit < _LARGEST_RATE * swap_ns[place]
        }
        # Tensors whose copies take time; the most that a unit of time moves, rounded up.
        self._slow = set(rates)
        self.rate = _rounded_up(max(rates.values(), default=Fraction(0)))
        self._columns: dict[tuple[int, TensorPath], int] = {}

    def add_classes(self, builder: ArrayModelBuilder, classes: Collection[TensorPath]) -> None:
        """Add a binary column for each tensor and class, and the rows (class)."""
        for place in self.movable:
            columns = [
                builder.add_column(f"{path}_{self.place}_{place}", upper=1, integer=True)
                for path in classes
            ]
            self._columns |= {
                (place, path): column for path, column in zip(classes, columns, strict=True)
            }
            builder.add_row(
                f"class_{self.place}_{place}", columns, [1.0] * len(columns), lower=1, upper=1
            )

    def in_forward_stretch(self, number: int) -> list[int]:
        """Return the tensors that become idle from a milestone on, before the next one."""
        return [place for place in self.movable if self.from_forward[place] == number]

    def in_backward_stretch(self, number: int) -> list[int]:
        """Return the tensors first used in stretch `number` of the backward pass."""
        return [place for place in self.movable if self.until_backward[place] == number]

    def stays(self, classes: Collection[TensorPath], places: Sequence[int]) -> Terms:
        """Return the bytes of tensors that are of some classes, as terms."""
        return self._sum(classes, places, self._bytes)

    def stays_or_moves(
        self,
        classes: Collection[TensorPath],
        kept: Collection[TensorPath],
        places: Sequence[int],
    ) -> Terms:
        """Return the bytes of tensors of `classes`, or of `kept` if their copies take no time."""
        slow = [place for place in places if place in self._slow]
        instant = [place for place in places if place not in self._slow]
        return self.stays(classes, slow) + self.stays(kept, instant)

    def copies(self, classes: Collection[TensorPath], places: Sequence[int]) -> Terms:
        """Return the time of a copy of each tensor of some classes."""
        return self._sum(classes, places, self._swap)

    def carried(self, copies: Mapping[TensorPath, int], places: Sequence[int]) -> Terms:
        """Return the time of a shared link that tensors take, each copied as often as its class."""
        return [
            (column, count * weight)
            for path, count in copies.items()
            for column, weight in self._sum((path,), places, self._shared)
        ]

    def swaps(self, places: Sequence[int]) -> Terms:
        """Return the least time in which each swapped tensor leaves and comes back."""
        return self._sum(paths.OFFLOADED_IN_FORWARD, places, self._there_and_back)

    def recomputations(self, classes: Collection[TensorPath], places: Sequence[int]) -> Terms:
        """Return the time to recompute each tensor of some classes once."""
        return self._sum(classes, places, self._recompute)

    def most_bytes(self, places: Sequence[int]) -> float:
        """Return the bytes of tensors of all classes."""
        return sum(self._bytes[place] for place in places)

    def _sum(
        self, classes: Collection[TensorPath], places: Sequence[int], weights: Sequence[float]
    ) -> Terms:
        return [
            (self._columns[place, path], weights[place])
            for place in places
            if weights[place]
            for path in classes
            if (place, path) in self._columns
        ]


def _rounded_up(rate: Fraction) -> float:
    """Return the rate with few significant bits: its products with durations are short numbers."""
    _, exponent = math.frexp(rate)
    return math.ldexp(
        math.ceil(rate * Fraction(2) ** (_RATE_BITS - exponent)), exponent - _RATE_BITS
    )
