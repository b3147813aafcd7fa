r"""Least time of a micro-batch on a part, by what it keeps and by the memory of its phases.

With several chunks on a device there is no one number of micro-batches in flight: a chunk has more
or fewer of them while another one runs. What the others hold is known once each chunk has a budget
:math:`\kappa_c` for what one micro-batch keeps between its phases, and the least time of a chunk
within :math:`\kappa` and a memory :math:`m` for its phases, both beside its input, is an entry of
the two-phase program (`jettison.formulations.pipeline_chain.two_phases`),

.. math:: T_{s,t}(\kappa, m) = W_d(s, m), \qquad d = \max(0, m - \kappa).

Entries are computed for a part when one is asked for, in time :math:`O(L^2 S^2)` for :math:`L`
stages and :math:`S` slots, of which those that end with the same stage share the work. Rounded up,
sequences fit; rounded down, none that fits is lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jettison.schedules.pipeline_chain.schedule import DevicePlan
from jettison.solvers import _kernels
from jettison.solvers.pipeline_chain.device_times import (
    NEVER_NS,
    PipelineNeeds,
    narrow,
    operations_of,
)

# Entries of so many parts are kept, each the square of the slots.
_MOST_PARTS = 256


class ChunkTimes:
    """Table of the least times of parts.

    Parameters
    ----------
    needs
        Of the problem.
    longest
        Stages of the longest part.
    slots, top_bytes
        Slots, and the memory that they are; more than that is not used.
    rounds_up
        Whether sizes are rounded up and memories down, for plans, or the other way round.
    """

    def __init__(
        self,
        needs: PipelineNeeds,
        longest: int,
        slots: int,
        top_bytes: int,
        *,
        rounds_up: bool,
    ) -> None:
        self.longest, self.slots, self.top_bytes = longest, slots, top_bytes
        self._rounds_up = rounds_up
        count = len(needs.chain)
        rotor = needs.rotor
        first, last = np.indices((count, count))
        wanted = (first <= last) & (last < first + longest)
        self._kernel = _kernels.PhaseTable(
            np.array([stage.forward_ns for stage in needs.chain], dtype=np.int64),
            np.array([stage.backward_ns for stage in needs.chain], dtype=np.int64),
            self.sizes(rotor.input_bytes),
            self.sizes(rotor.saved_bytes),
            self._up(rotor.forward_all),
            self._up(rotor.forward_none),
            self._up(needs.saving_bytes),
            self._up(needs.passing_bytes),
            np.ones(1, dtype=np.int32),
            np.ascontiguousarray(np.where(wanted, slots, -1)[None].astype(np.int32)),
            2**31,
        )
        self._count = count
        self._parts: dict[tuple[int, int], NDArray[np.int64]] = {}

    def ending_with(self, last: int) -> NDArray[np.int64]:
        """Return :math:`W_d(i, m)` by stage i, d and m, for the parts that end with a stage.

        The first part is the longest one.
        """
        first = max(1, last - self.longest + 1)
        return self._rows(first, last)

    def _rows(self, first: int, last: int) -> NDArray[np.int64]:
        rows = np.empty((last - first + 1, self.slots + 1, self.slots + 1), dtype=np.int64)
        self._kernel.within(first - 1, last - 1, rows)
        return rows

    def _up(self, amounts: NDArray[np.int64]) -> NDArray[np.int32]:
        return narrow(-((-amounts.astype(object) * self.slots) // self.top_bytes))

    def _down(self, amounts: NDArray[np.int64]) -> NDArray[np.int32]:
        return narrow(amounts.astype(object) * self.slots // self.top_bytes)

    def sizes(self, amounts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return sizes in slots."""
        return self._up(amounts) if self._rounds_up else self._down(amounts)

    def memory(self, amount_bytes: int) -> int:
        """Return a memory in slots; below 0 where it is negative."""
        scaled = amount_bytes * self.slots
        return scaled // self.top_bytes if self._rounds_up else -(-scaled // self.top_bytes)

    def least(
        self, first: int, last: int, kept: NDArray[np.int64], memory: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        r"""Return :math:`T_{s,t}`, `NEVER_NS` where nothing fits.

        Parameters
        ----------
        first, last
            The part, from 1.
        kept, memory
            Slots for what is kept, and for the phases; one may be negative.
        """
        if (first, last) not in self._parts:
            if len(self._parts) >= _MOST_PARTS:
                self._parts.clear()
            self._parts[first, last] = self._rows(first, last)[0].copy()
        return self.read(self._parts[first, last], kept, memory)

    def read(
        self, own: NDArray[np.int64], kept: NDArray[np.int64], memory: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return entries of the program of one part; see `least`."""
        most = np.clip(memory, 0, self.slots)
        found = own[np.clip(most - kept, 0, self.slots), most]
        times: NDArray[np.int64] = np.where((memory >= 0) & (kept >= 0), found, NEVER_NS)
        return np.minimum(times, NEVER_NS)

    def plan(self, first: int, last: int, kept: int, memory: int) -> DevicePlan:
        """Return the sequence that takes the least time; there must be one."""
        most = min(memory, self.slots)
        forward, backward = self._kernel.sequence_within(
            first - 1, last - 1, max(0, most - kept), most
        )
        return DevicePlan(first, last, operations_of(forward), operations_of(backward))
