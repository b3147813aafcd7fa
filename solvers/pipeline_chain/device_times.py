r"""Least time of a micro-batch on a device, for every device and its possible stages, on slots.

`jettison.formulations.pipeline_chain.two_phases` has the recurrence and its proof, and says why
rotor's :math:`C(s,t,m)` alone is wrong here:

.. math::

    W_d(i,m) &= \min\Bigl( [m \ge m_{save}(i)]\; u_f^i + u_b^i + W_d(i+1, m - \bar a^i), \\
             &\phantom{=\min\Bigl(} \min_{i < j \le t+1} [m \ge m_{pass}(i,j-1)]
               \sum_{k=i}^{j-1} u_f^k + C(i,j-1,m) + W_d(j, m - [j \le t]\, a^{j-1}) \Bigr) \\
    \tau(s,t,K) &= \min_\kappa W_d(s, d + \kappa), \qquad d = R - K \kappa,

where :math:`K` micro-batches are in flight, each keeps :math:`\kappa` bytes between its
phases, and :math:`R` is the room beside what is resident and the inputs in flight.

:math:`\kappa` is one more dimension, but through :math:`d` only: one sweep over :math:`d` serves
all ranks and all :math:`s` for each :math:`t`. The time is :math:`O(N L^2 S^2)` for parts of at
most :math:`L` stages and :math:`S` slots.

Rounding. With sizes rounded up and memories rounded down, :math:`\kappa` slots are never fewer than
what is kept, so that the sequences fit. With sizes rounded down and memories rounded up,
:math:`\kappa` slots are never more, so that no sequence that fits is lost, and the times are lower
bounds. Where the grid is exact both are the same.

Source: the two phases and their program are of this project; :math:`C` is RR-9302, Theorem 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.pipeline_chain.schedule import DevicePlan
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.solvers import _kernels
from jettison.solvers.remat_chain.needs import ChainNeeds

NEVER_NS = _kernels.NO_PHASES_NS
# Slots of a threshold that no memory meets, and of a device that is not to have some stages.
_MOST_SLOTS = 2**30
_NOT = -1
# The order of the kernel.
_KINDS = tuple(ChainOperationKind)


@dataclass(frozen=True)
class PipelineNeeds:
    """Bytes that the program needs of a problem: thresholds, and the room of each device."""

    problem: PipelineChain
    chain: Chain

    @cached_property
    def rotor(self) -> ChainNeeds:
        """The thresholds of rotor."""
        return ChainNeeds(self.chain)

    @cached_property
    def saving_bytes(self) -> NDArray[np.int64]:
        r""":math:`m_{save}`, shape (N,)."""
        needs: NDArray[np.int64] = np.maximum(self.rotor.saving_bytes, self.rotor.backward_bytes)
        return needs

    @cached_property
    def passing_bytes(self) -> NDArray[np.int64]:
        r""":math:`m_{pass}` by first and last stage, shape (N, N)."""
        count = len(self.chain)
        first = self.rotor.passing_bytes
        later = self.rotor.input_bytes + first
        needs = np.zeros((count, count), dtype=np.int64)
        for s in range(count):
            needs[s, s:] = np.maximum.accumulate(np.concatenate((first[s : s + 1], later[s + 1 :])))
        return needs

    @cached_property
    def room_bytes(self) -> NDArray[np.int64]:
        """Memory beside what is resident and the inputs in flight, shape (p, N, N)."""
        problem, count = self.problem, len(self.chain)
        room = np.full((problem.devices, count, count), _NOT, dtype=np.int64)
        for device in range(1, problem.devices + 1):
            flying = problem.in_flight(device)
            # Every device before it and behind it has a stage; the ends have the ends.
            firsts = [1] if device == 1 else range(device, count - problem.devices + device + 1)
            for first in firsts:
                behind = problem.devices - device
                lasts = range(first, count - behind + 1) if behind else [count]
                inputs = flying * self.chain.activation_bytes(first - 1)
                for last in lasts:
                    held = problem.resident_bytes(device, first, last) + inputs
                    room[device - 1, first - 1, last - 1] = max(_NOT, problem.memory_bytes - held)
        return room

    @cached_property
    def base_ns(self) -> NDArray[np.int64]:
        """Time of a micro-batch without recomputation, sends included, shape (p, N, N)."""
        times = np.array([item.forward_ns + item.backward_ns for item in self.chain], np.int64)
        return _sums(times)[None] + self.send_forward_ns + self.send_backward_ns

    @cached_property
    def send_forward_ns(self) -> NDArray[np.int64]:
        """Time to send outputs, shape (p, 1, N)."""
        problem, count = self.problem, len(self.chain)
        devices, stages = range(1, problem.devices + 1), range(1, count + 1)
        found = [[problem.send_forward_ns(device, last) for last in stages] for device in devices]
        return np.array(found, dtype=np.int64)[:, None, :]

    @cached_property
    def send_backward_ns(self) -> NDArray[np.int64]:
        """Time to send gradients, shape (p, N, 1)."""
        problem, count = self.problem, len(self.chain)
        devices, stages = range(1, problem.devices + 1), range(1, count + 1)
        found = [
            [problem.send_backward_ns(device, first) for first in stages] for device in devices
        ]
        return np.array(found, dtype=np.int64)[:, :, None]

    @cached_property
    def forward_ns(self) -> NDArray[np.int64]:
        """Time of the forward phase with its send, which no recomputation changes, (p, N, N)."""
        times = np.array([item.forward_ns for item in self.chain], np.int64)
        return np.ascontiguousarray(_sums(times)[None] + self.send_forward_ns)

    def exact_slots(self, within: NDArray[np.bool_]) -> int | None:
        """Return slots with which nothing is rounded; None where there would be too many."""
        rotor, shared = self.rotor, 0
        amounts = (
            rotor.input_bytes,
            rotor.saved_bytes,
            rotor.forward_all,
            rotor.forward_none,
            self.saving_bytes,
            self.passing_bytes,
            self.room_bytes[within],
        )
        for array in amounts:
            shared = gcd(shared, int(np.gcd.reduce(array, axis=None)) if array.size else 0)
        most = int(self.room_bytes[within].max(initial=0))
        return most // shared if shared and most // shared < _MOST_SLOTS else None


@dataclass(frozen=True)
class DeviceTimes:
    """Least times of a micro-batch by device and stages, in one rounding.

    Attributes
    ----------
    needs
        Of the problem.
    busy_ns
        Time with both sends, shape (p, N, N); `NEVER_NS` where nothing fits or was asked for.
    slots
        Slots of the grid.
    """

    needs: PipelineNeeds
    busy_ns: NDArray[np.int64]
    slots: int
    _table: _kernels.PhaseTable

    def plan(self, device: int, first: int, last: int) -> DevicePlan:
        """Return the plan of a device that takes this time."""
        forward, backward = self._table.sequence(device - 1, first - 1, last - 1)
        return DevicePlan(first, last, operations_of(forward), operations_of(backward))


def device_times(
    needs: PipelineNeeds,
    within: NDArray[np.bool_],
    slots: int,
    *,
    rounds_up: bool,
    most_entries: int,
    time_limit_s: float | None = None,
) -> DeviceTimes:
    """Fill the table of the program.

    Parameters
    ----------
    needs
        Of the problem.
    within
        The devices and stages that are asked for, shape (p, N, N).
    slots
        Slots of the largest room.
    rounds_up
        Whether sizes are rounded up, for plans, or down, for bounds.
    most_entries
        Limit on the entries of rotor's table.
    time_limit_s
        Wall-clock limit.

    Raises
    ------
    TimeoutError
        At the limit.
    MemoryError
        If the table were larger than the limit.
    """
    wanted = within & (needs.room_bytes >= 0)
    most_bytes = max(1, int(needs.room_bytes[wanted].max(initial=0)))

    def up(amounts: NDArray[np.int64]) -> NDArray[np.int32]:
        # Whole numbers of Python: a product of bytes and slots may not fit 64 bits.
        exact = -((-amounts.astype(object) * slots) // most_bytes)
        return narrow(exact)

    def down(amounts: NDArray[np.int64]) -> NDArray[np.int32]:
        return narrow(amounts.astype(object) * slots // most_bytes)

    size, room = (up, down) if rounds_up else (down, up)
    rotor = needs.rotor
    table = _kernels.PhaseTable(
        np.array([stage.forward_ns for stage in needs.chain], dtype=np.int64),
        np.array([stage.backward_ns for stage in needs.chain], dtype=np.int64),
        size(rotor.input_bytes),
        size(rotor.saved_bytes),
        up(rotor.forward_all),
        up(rotor.forward_none),
        up(needs.saving_bytes),
        up(needs.passing_bytes),
        np.array(
            [needs.problem.in_flight(k + 1) for k in range(needs.problem.devices)], dtype=np.int32
        ),
        room(np.where(wanted, needs.room_bytes, _NOT * most_bytes)),
        most_entries,
        time_limit_s,
    )
    times = np.array(table.times_ns, dtype=np.int64).reshape(within.shape)
    sends = needs.send_forward_ns + needs.send_backward_ns
    busy = np.where(times < NEVER_NS, times + sends, NEVER_NS)
    return DeviceTimes(needs, np.ascontiguousarray(busy), slots, table)


def narrow(amounts: NDArray[np.object_]) -> NDArray[np.int32]:
    """Return slots as the kernel takes them; more than any memory has stays more."""
    return np.ascontiguousarray(np.clip(amounts, _NOT, _MOST_SLOTS).astype(np.int32))


def _sums(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums over all parts, by first and last stage; no meaning where last < first."""
    before = np.concatenate(([0], np.cumsum(times)))
    sums: NDArray[np.int64] = before[None, 1:] - before[:-1, None]
    return sums


def operations_of(steps: list[tuple[int, int]]) -> tuple[ChainOperation, ...]:
    """Return the operations that the kernel's steps are."""
    return tuple(ChainOperation(_KINDS[kind], stage) for kind, stage in steps)
