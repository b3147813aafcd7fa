r"""Paths through the phases of an interleaved step: each is a lower bound on its time.

A phase starts after the phase before it on its device has been sent, and after what it reads has
arrived. So the phases along any *path*, each of which waits for the one before it in one of these
two ways, follow one another, and the step takes at least their times together:

.. math:: T \ge \sum_j n^f_j f_j + n^b_j b_j,

where the path has :math:`n^f_j` forward and :math:`n^b_j` backward phases of part :math:`j`, whose
times with sending are :math:`f_j` and :math:`b_j`. Orders are the same for all cuts, so that a path
bounds the steps of all of them. That senders wait for buffers is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jettison.schedules.pipeline_chain.phase_order import device_turns

# A phase: whether it is backward, the part, and the micro-batch.
Phase = tuple[bool, int, int]


class Counts(NamedTuple):
    """Phases of a path by part: an array of the forward ones, and one of the backward ones."""

    forward: NDArray[np.int64]
    backward: NDArray[np.int64]


class PhasePaths:
    """Paths through the phases of a step, whose order is that of `phase_order`.

    Parameters
    ----------
    devices, chunks, microbatches
        The pipeline.
    """

    def __init__(self, devices: int, chunks: int, microbatches: int) -> None:
        self._devices, self._parts = devices, devices * chunks
        self._microbatches = microbatches
        self._turns = [
            [
                (turn.is_backward, turn.part, turn.microbatch)
                for turn in device_turns(devices, device, chunks, microbatches)
            ]
            for device in range(1, devices + 1)
        ]
        self._places: dict[Phase, int] = {}
        # In an order in which every phase comes after those that it waits for.
        self._phases: list[Phase] = []
        self._before: list[tuple[int, int]] = []
        self._order()

    def _order(self) -> None:
        """Order the phases; each device goes on as far as it can."""
        nexts, last = [0] * self._devices, [-1] * self._devices
        is_moving = True
        while is_moving:
            is_moving = False
            for device, turns in enumerate(self._turns):
                while nexts[device] < len(turns):
                    phase = turns[nexts[device]]
                    read = self._read_by(phase)
                    if read is not None and read not in self._places:
                        break
                    number = self._places[phase] = len(self._phases)
                    self._phases.append(phase)
                    self._before.append((last[device], -1 if read is None else self._places[read]))
                    last[device] = number
                    nexts[device] += 1
                    is_moving = True

    def _read_by(self, phase: Phase) -> Phase | None:
        """Return the phase whose result a phase reads."""
        is_backward, part, number = phase
        if is_backward:
            is_first = part == self._parts - 1
            return (not is_first, part if is_first else part + 1, number)
        return None if part == 0 else (False, part - 1, number)

    def first(self) -> list[Counts]:
        """Return two paths for each device.

        Both have all that the device does from some phase on. The first one has come forward to the
        first part of the device, and goes back from there; the other one comes through all parts
        to the first backward phase of the device.
        """
        found = []
        for device, turns in enumerate(self._turns):
            last_part = self._parts - self._devices + device
            back = [(True, part, self._microbatches) for part in range(device)]
            there = [(False, part, 1) for part in range(device)]
            found.append(self._counted([*there, *turns, *back]))
            first_backward = next(place for place, phase in enumerate(turns) if phase[0])
            around = [(False, part, 1) for part in range(self._parts)]
            around += [(True, part, 1) for part in range(last_part + 1, self._parts)]
            found.append(self._counted([*around, *turns[first_backward:], *back]))
        return found

    def longest(self, forward: NDArray[np.float64], backward: NDArray[np.float64]) -> Counts:
        """Return the longest path, for times of the phases by part; linear time in phases."""
        times = (forward.tolist(), backward.tolist())
        ends: list[float] = []
        came: list[int] = []
        for (is_backward, part, _), (on_device, read) in zip(
            self._phases, self._before, strict=True
        ):
            first = ends[on_device] if on_device >= 0 else 0.0
            second = ends[read] if read >= 0 else 0.0
            ends.append(max(first, second) + times[is_backward][part])
            came.append(on_device if first >= second else read)
        place, path = int(np.argmax(ends)), []
        while place >= 0:
            path.append(self._phases[place])
            place = came[place]
        return self._counted(path)

    def _counted(self, path: list[Phase]) -> Counts:
        counts = np.zeros((2, self._parts), dtype=np.int64)
        for is_backward, part, _ in path:
            counts[int(is_backward), part] += 1
        return Counts(counts[0], counts[1])
