r"""Possible states of weights and link at the cut of a cyclic step.

The cut is right before an operation starts. Between two uses of its weights a layer has one of
these statuses (the proofs are in `solvers.weight_offload.exact.method`):

* absent, or arriving: the host has the newest copy;
* stale: resident, and the host's copy is older than the last backward; or being uploaded;
* returned: resident, and the host has the newest copy, for they were absent since the last use or
  before it;
* owed, between backward and forward only: uploaded early, and to be deleted after the forward.

Layers without weights have no status. Where a layer's backward comes next, and so soon that its
weights cannot leave before it, stale and returned count as one status, stale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jettison.instances.weight_offload.cycle import CycleOperation
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock

Numbers = NDArray[np.int32]
Amounts = NDArray[np.int64]
# Layer, backward or not, time, bytes while each runs and after it; weights and their transfers;
# memory and bandwidth.
CycleArrays = tuple[Numbers, Numbers, Amounts, Amounts, Amounts, Amounts, Amounts, int, int]


@dataclass(frozen=True, slots=True)
class Beginning:
    """State at the cut; sets of layers are bit masks, moving layers are numbered from 0.

    Attributes
    ----------
    resident, hosted, owed
        The layers whose weights are in memory; those of which the host has the newest copy; those
        that have been uploaded and are still to be deleted.
    up, down
        The layers in transfer to and from the host, or `_kernels.IDLE_LINK`.
    up_ns, down_ns
        Upper limits on the time that is left of these transfers.
    """

    resident: int
    hosted: int
    owed: int
    up: int
    down: int
    up_ns: int = 0
    down_ns: int = 0

    @property
    def row(self) -> tuple[int, ...]:
        """The state as a row of the kernel's input."""
        return (
            self.resident,
            self.hosted,
            self.owed,
            self.up,
            self.down,
            self.up_ns,
            self.down_ns,
        )

    def raised(self, up_ns: int, down_ns: int) -> Beginning:
        """Return the same state with more time left of its transfers, where these are longer."""
        return replace(self, up_ns=up_ns, down_ns=down_ns)


@dataclass(frozen=True, slots=True)
class Beginnings:
    """States at a cut that a step of some period may have.

    Attributes
    ----------
    states
        The states.
    next_ns
        No step from another state is shorter than this.
    """

    states: tuple[Beginning, ...]
    next_ns: int


@dataclass(frozen=True)
class CutCycle:
    """Cycle of a problem's operations, rotated to begin at a cut.

    Attributes
    ----------
    problem
        The problem.
    first
        The index of the operation right after the cut.
    """

    problem: WeightOffload
    first: int

    @cached_property
    def operations(self) -> tuple[CycleOperation, ...]:
        """All of them, each once."""
        listed = self.problem.cycle.operations
        return listed[self.first :] + listed[: self.first]

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """The layers that have weights; sets of layers are sets of places in this list."""
        return moving_layers(self.problem)

    @cached_property
    def place_of(self) -> Mapping[int, int]:
        """The place of every moving layer in the list."""
        return {layer: place for place, layer in enumerate(self.moving)}

    @cached_property
    def arrays(self) -> CycleArrays:
        """The operations and the link as arrays for the kernel."""
        cycle, link = self.problem.cycle, self.problem.link
        sizes = [cycle.weight_bytes[layer - 1] for layer in self.moving]
        return (
            _numbers(self.place_of.get(item.layer, _kernels.NO_LAYER) for item in self.operations),
            _numbers(item.is_backward for item in self.operations),
            _amounts(item.duration_ns for item in self.operations),
            _amounts(item.working_bytes for item in self.operations),
            _amounts(item.resting_bytes for item in self.operations),
            _amounts(sizes),
            _amounts(link.transfer_ns(size) for size in sizes),
            self.problem.memory_bytes,
            link.bytes_per_s,
        )

    @cached_property
    def forward_next(self) -> int:
        """The moving layers whose forward comes before their backward, as a bit mask."""
        place = {(item.layer, item.is_backward): k for k, item in enumerate(self.operations)}
        return sum(
            1 << number
            for number, layer in enumerate(self.moving)
            if place[layer, False] < place[layer, True]
        )

    def beginnings(
        self, period_ns: int, most: int, time_limit_s: float | None = None
    ) -> Beginnings | None:
        """Return the states at the cut with an idle link that a step of a period may have.

        None if there are more than `most`, or the time is up.

        Notes
        -----
        Time :math:`O(5^L)` at the worst. Layer by layer, those are cut off from which, or to which,
        no step within the period leads, by lower bounds (`solvers.weight_offload.exact.method`).
        """
        complete, rows, next_ns = _kernels.weight_cycle_beginnings(
            *self.arrays, period_ns, most, time_limit_s
        )
        return Beginnings(tuple(Beginning(*row) for row in rows), next_ns) if complete else None


def moving_layers(problem: WeightOffload) -> tuple[int, ...]:
    """Return the layers that have weights, counted from 1."""
    sizes = enumerate(problem.cycle.weight_bytes, start=1)
    return tuple(layer for layer, size in sizes if size)


def why_not_swept(problem: WeightOffload) -> str | None:
    """Return a sentence on why a step has too many layers for a sweep, or None if it has not."""
    moving, most = len(moving_layers(problem)), _kernels.MOST_OFFLOADED_LAYERS
    if moving > most:
        return f"at most {most} layers with weights are swept, and there are {moving}"
    layers, most = problem.cycle.num_layers, _kernels.MOST_CYCLE_OPERATIONS // 2
    if layers > most:
        return f"at most {most} layers are swept, and there are {layers}"
    return None


def cuts_by_room(problem: WeightOffload) -> list[CutCycle]:
    """Return all cuts, by how little memory the next operation leaves free."""
    weights = problem.cycle.weight_bytes
    needs = [item.working_bytes + weights[item.layer - 1] for item in problem.cycle]
    return [
        CutCycle(problem, first)
        for first in sorted(range(len(needs)), key=lambda index: -needs[index])
    ]


def best_cut(
    problem: WeightOffload, period_ns: int, most: int, clock: Clock
) -> tuple[CutCycle, Beginnings] | None:
    """Return the cut with the fewest states that a step of a period may have.

    None if all have more than `most`, or the time is up.
    """
    best: tuple[CutCycle, Beginnings] | None = None
    # Where little memory is free there are few states; the limit soon ends the other cuts.
    for cut in cuts_by_room(problem):
        fewer = most if best is None else len(best[1].states) - 1
        if fewer < 0:
            break
        limit_s = None if math.isinf(clock.left_s) else max(clock.left_s, 1e-3)
        states = cut.beginnings(period_ns, fewer, limit_s)
        if states is not None:
            best = cut, states
    return best


def _numbers(values: Iterable[int]) -> Numbers:
    return np.array(list(values), dtype=np.int32)


def _amounts(values: Iterable[int]) -> Amounts:
    return np.array(list(values), dtype=np.int64)
