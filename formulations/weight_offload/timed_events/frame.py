r"""Frame of one period, in which the model of `least_period` places its events.

The frame begins with :math:`B_L` at time 0 and ends at :math:`T`. It is divided into places:
:math:`2k` while operation :math:`k` runs, :math:`2k + 1` while nothing runs after it. Where a
period has no idle time only the places of operations that take time are left: a prefetch then
belongs to the last place that contains its time, and the end of an upload to the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.weight_offload.problem import WeightOffload

# Up to so many units times are whole numbers in the model; longer ones are scaled to 1024.
_MOST_WHOLE_UNITS = 2**20


class Prefetch(NamedTuple):
    """Prefetch that a model may use: the layer, and the gap in which its weights come back.

    Attributes
    ----------
    layer
        Number of the layer, from 1.
    gap
        0 from its backward to its forward, 1 from its forward to its next backward.
    """

    layer: int
    gap: int


class Place(NamedTuple):
    """Part of the frame: while an operation runs, or while nothing runs after it."""

    operation: int
    is_idle: bool

    @property
    def number(self) -> int:
        r"""Its number :math:`\sigma` among all places."""
        return 2 * self.operation + self.is_idle


@dataclass(frozen=True)
class EventFrame:
    """Frame of a problem: its operations, places, transfers and memory, as the model counts them.

    Attributes
    ----------
    problem
        The problem.
    least_ns, most_ns
        The shortest and the longest period that the model allows.
    has_idle_places
        Whether there are places in which nothing runs, and operations that take no time have one.
    """

    problem: WeightOffload
    least_ns: int
    most_ns: int
    has_idle_places: bool

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """The layers that have weights: the others never move."""
        sizes = self.problem.cycle.weight_bytes
        return tuple(layer for layer, size in enumerate(sizes, start=1) if size)

    @cached_property
    def prefetches(self) -> tuple[Prefetch, ...]:
        """One for each layer and gap."""
        return tuple(Prefetch(layer, gap) for layer in self.layers for gap in (0, 1))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The places in the order of the frame."""
        operations = enumerate(self.problem.cycle)
        if self.has_idle_places:
            return tuple(Place(k, is_idle) for k, _ in operations for is_idle in (False, True))
        return tuple(Place(k, False) for k, operation in operations if operation.duration_ns)

    def backward(self, layer: int) -> int:
        """Return the number of the place in which a layer's backward runs."""
        return 2 * self.problem.cycle.backward_index(layer)

    def forward(self, layer: int) -> int:
        """Return the number of the place in which a layer's forward runs."""
        return 2 * self.problem.cycle.forward_index(layer)

    def upload_places(self, layer: int) -> tuple[Place, ...]:
        """Return where an upload may end: everywhere but in the layer's backward."""
        return tuple(item for item in self.places if item.number != self.backward(layer))

    def prefetch_places(self, prefetch: Prefetch) -> tuple[Place, ...]:
        """Return where a prefetch may start: in its gap."""
        layer, gap = prefetch
        after, until = self.backward(layer), self.forward(layer)
        if gap == 0:
            return tuple(item for item in self.places if after < item.number < until)
        return tuple(item for item in self.places if not after <= item.number <= until)

    def order(self, layer: int, place: Place) -> int:
        """Return the number of a place counted from a layer's backward, around the cycle."""
        return (place.number - self.backward(layer)) % (2 * len(self.problem.cycle))

    def is_wrapped(self, layer: int, place: Place) -> bool:
        """Tell whether a place belongs to the end of a period that a layer's backward begins."""
        return place.number < self.backward(layer)

    @cached_property
    def time_scale(self) -> IntegerScale:
        """Scale of times; up to a million units they stay whole numbers."""
        cycle, link = self.problem.cycle, self.problem.link
        transfers_ns = (link.transfer_ns(size) for size in cycle.weight_bytes)
        limits_ns = (self.least_ns, self.most_ns)
        given = [*(item.duration_ns for item in cycle), *transfers_ns, *limits_ns]
        unit = math.gcd(*given) or 1
        if max(given) <= unit * _MOST_WHOLE_UNITS:
            return IntegerScale(unit, 1)
        return IntegerScale.of(given)

    @property
    def counts_nanoseconds(self) -> bool:
        """Whether a unit of time is a nanosecond, so that the period is a whole number."""
        return self.time_scale == IntegerScale(1, 1)

    @cached_property
    def most(self) -> float:
        """The longest period :math:`H`, rounded up as the model counts it."""
        scale = self.time_scale
        return -(-self.most_ns // scale.unit) / scale.factor

    @cached_property
    def least(self) -> float:
        """The shortest period, rounded down as the model counts it."""
        return self.time_scale.to_model(self.least_ns)

    @property
    def is_period_given(self) -> bool:
        """Whether the model allows one period only."""
        return self.least == self.most

    @cached_property
    def durations(self) -> tuple[float, ...]:
        """Durations :math:`u_k` of the operations."""
        return tuple(self.time_scale.to_model(item.duration_ns) for item in self.problem.cycle)

    @cached_property
    def transfers(self) -> dict[int, float]:
        """Durations :math:`d_i` of the transfers, by layer."""
        sizes, link = self.problem.cycle.weight_bytes, self.problem.link
        return {i: self.time_scale.to_model(link.transfer_ns(sizes[i - 1])) for i in self.layers}

    @cached_property
    def memory_scale(self) -> IntegerScale:
        """Scale of sizes."""
        return IntegerScale.of(
            [*self.problem.cycle.weight_bytes, self._limit_bytes, *self._other_bytes()]
        )

    @cached_property
    def weights(self) -> dict[int, float]:
        """Sizes of the weights, by layer, rounded down."""
        sizes = self.problem.cycle.weight_bytes
        return {i: self.memory_scale.to_model(sizes[i - 1]) for i in self.layers}

    def excess(self, place: Place) -> float:
        """Return by how much all weights and what else is needed in a place exceed the memory.

        What is not positive is no excess. Sizes round down, and the memory up.
        """
        scale = self.memory_scale
        operation = self.problem.cycle.operations[place.operation]
        other_bytes = operation.resting_bytes if place.is_idle else operation.working_bytes
        weights = sum(size // scale.unit for size in self.problem.cycle.weight_bytes)
        room = -(-self._limit_bytes // scale.unit)
        return (weights + other_bytes // scale.unit - room) / scale.factor

    @property
    def _limit_bytes(self) -> int:
        """The memory; more than everything needs changes nothing."""
        return min(self.problem.memory_bytes, self.problem.cycle.no_offload_peak_bytes)

    def _other_bytes(self) -> Iterable[int]:
        for operation in self.problem.cycle:
            yield operation.working_bytes
            yield operation.resting_bytes
