r"""Possible states of weights and link at the cut of a cyclic step.

The cut is right before an operation starts. Between two uses of its weights a layer has one of
these statuses (the proofs are in `solvers.weight_offload.exact.method`):

* absent, or arriving: the host has the newest copy;
* stale: resident, and the host's copy is older than the last backward; or being uploaded;
* returned: resident, and the host has the newest copy, for they were absent since the last use or
  before it;
* owed, between backward and forward only: uploaded early, and to be deleted after the forward.

Weights of no bytes are resident for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jettison.instances.weight_offload.cycle import CycleOperation
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers import _kernels

Numbers = NDArray[np.int32]
Amounts = NDArray[np.int64]
# Layer, backward or not, time, bytes while each runs and after it; weights and their transfers;
# memory and bandwidth.
CycleArrays = tuple[Numbers, Numbers, Amounts, Amounts, Amounts, Amounts, Amounts, int, int]


@dataclass(frozen=True, slots=True)
class Beginning:
    """State at the cut; sets of layers are bit masks, layers are numbered from 0.

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
    def arrays(self) -> CycleArrays:
        """The operations and the link as arrays for the kernel."""
        cycle, link = self.problem.cycle, self.problem.link
        return (
            _numbers(item.layer - 1 for item in self.operations),
            _numbers(item.is_backward for item in self.operations),
            _amounts(item.duration_ns for item in self.operations),
            _amounts(item.working_bytes for item in self.operations),
            _amounts(item.resting_bytes for item in self.operations),
            _amounts(cycle.weight_bytes),
            _amounts(link.transfer_ns(size) for size in cycle.weight_bytes),
            self.problem.memory_bytes,
            link.bytes_per_s,
        )

    @cached_property
    def forward_next(self) -> int:
        """The layers whose forward comes before their backward, as a bit mask."""
        place = {(item.layer, item.is_backward): k for k, item in enumerate(self.operations)}
        layers = range(1, self.problem.cycle.num_layers + 1)
        return sum(1 << k - 1 for k in layers if place[k, False] < place[k, True])

    def beginnings(self, most: int) -> list[Beginning] | None:
        """Return all states at the cut with an idle link; None if there are more than `most`.

        Notes
        -----
        Time :math:`O(5^L)` at the worst; statuses that do not fit are cut off layer by layer.
        """
        rows = _kernels.weight_cycle_beginnings(*self.arrays, most)
        return [Beginning(*row) for row in rows] or None


def cuts_by_room(problem: WeightOffload) -> list[CutCycle]:
    """Return all cuts, by how little memory the next operation leaves free."""
    weights = problem.cycle.weight_bytes
    needs = [item.working_bytes + weights[item.layer - 1] for item in problem.cycle]
    return [
        CutCycle(problem, first)
        for first in sorted(range(len(needs)), key=lambda index: -needs[index])
    ]


def best_cut(problem: WeightOffload, most: int) -> tuple[CutCycle, list[Beginning]] | None:
    """Return the cut with the fewest states; None if all have more than `most`."""
    best: tuple[CutCycle, list[Beginning]] | None = None
    # Where little memory is free there are few states; the limit soon ends the other cuts.
    for cut in cuts_by_room(problem):
        states = cut.beginnings(most if best is None else len(best[1]) - 1)
        if states is not None:
            best = cut, states
    return best


def _numbers(values: Iterable[int]) -> Numbers:
    return np.array(list(values), dtype=np.int32)


def _amounts(values: Iterable[int]) -> Amounts:
    return np.array(list(values), dtype=np.int64)
