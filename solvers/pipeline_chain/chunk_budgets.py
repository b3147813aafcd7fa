r"""Budgets of the chunks of a device: how much a micro-batch keeps on each, for the least time.

Let chunk :math:`c` of a device have the input :math:`a_c`, and keep at most :math:`\kappa_c` beside
it. When a phase of chunk :math:`c` begins in load :math:`\ell` (`phase_order.Load`), the others
hold :math:`\sum_{c'} n^\ell_{c'} (a_{c'} + \kappa_{c'})`, so that its phases have

.. math:: m_c(\kappa) = M - \text{resident} - a_c
          - \max_{\ell \text{ of } c} \sum_{c'} n^\ell_{c'} (a_{c'} + \kappa_{c'})

and the device takes :math:`\sum_c T_c(\kappa_c, m_c(\kappa))` (`chunk_times`). Both phases of a
chunk get what its fullest load leaves, which is at times less than one of them could have.

The budgets are searched by coordinate descent, from the best of a line of proportional ones: a
heuristic, since the chunks compete for the same memory. With one chunk it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.pipeline_chain.phase_order import device_turns, largest_loads
from jettison.schedules.pipeline_chain.schedule import DevicePlan
from jettison.solvers.pipeline_chain.chunk_times import ChunkTimes
from jettison.solvers.pipeline_chain.cutting import Spans
from jettison.solvers.pipeline_chain.device_times import NEVER_NS

_MOST_PASSES = 6


@dataclass(frozen=True)
class Budgeted:
    """Budgets of a device, and what its chunks take.

    Attributes
    ----------
    times_ns
        Time of each chunk, without sends.
    kept, memory
        Slots of each chunk, as `ChunkTimes.plan` takes them.
    """

    times_ns: tuple[int, ...]
    kept: tuple[int, ...]
    memory: tuple[int, ...]


class DeviceBudgets:
    """Budgets of the devices of a pipeline with some chunks.

    Parameters
    ----------
    problem, chunks
        The problem, and the parts of each device.
    times
        Table of the chunks, rounded up.
    """

    def __init__(self, problem: PipelineChain, chunks: int, times: ChunkTimes) -> None:
        self._problem, self._chunks, self._times = problem, chunks, times
        self._inputs = times.sizes(
            np.array([problem.instance.activation_bytes(k) for k in range(len(problem.instance))])
        )
        self._loads: list[list[NDArray[np.int64]]] = []
        for device in range(1, problem.devices + 1):
            turns = device_turns(problem.devices, device, chunks, problem.microbatches)
            loads = largest_loads(turns, problem.devices, chunks)
            self._loads.append(
                [
                    np.unique([load.waiting for load in loads if load.chunk == chunk], axis=0)
                    for chunk in range(chunks)
                ]
            )
        self._known: dict[tuple[int, Spans], Budgeted | None] = {}

    def best(self, device: int, spans: Spans) -> Budgeted | None:
        """Return good budgets for the parts of a device, counted from 1; None if none were found.

        Parameters
        ----------
        device, spans
            The device, and first and last stage of each of its parts.
        """
        key = (device, spans)
        if key not in self._known:
            self._known[key] = self._search(device, spans)
        return self._known[key]

    def plans(self, device: int, spans: Spans) -> list[DevicePlan] | None:
        """Return the plans of the parts of a device; None where no budgets were found."""
        found = self.best(device, spans)
        if found is None:
            return None
        return [
            self._times.plan(*span, found.kept[chunk], found.memory[chunk])
            for chunk, span in enumerate(spans)
        ]

    def _search(self, device: int, spans: Spans) -> Budgeted | None:
        problem, count = self._problem, len(self._problem.instance)
        if any(last - first >= self._times.longest or last > count for first, last in spans):
            return None
        parts = problem.devices * self._chunks
        resident = sum(
            problem.resident_bytes(device + chunk * problem.devices, *span, parts)
            for chunk, span in enumerate(spans)
        )
        room = self._times.memory(problem.memory_bytes - resident)
        if room < 0:
            return None
        own = np.array([self._inputs[first - 1] for first, _ in spans], dtype=np.int64)
        saved = np.array([self._saved(first, last) for first, last in spans], dtype=np.int64)
        scale = np.arange(self._times.slots + 1)
        # Each chunk a share of what it would keep in full; the last line has as much as it likes.
        line = -(-scale[:, None] * saved[None, :] // max(1, self._times.slots))
        best = self._first_best(device, spans, line, own, room)
        for _ in range(_MOST_PASSES):
            before = best
            for chunk in range(self._chunks):
                start = line[0] * 0 if best is None else np.array(best.kept)
                line = np.repeat(start[None, :], self._times.slots + 1, axis=0)
                line[:, chunk] = scale
                other = self._first_best(device, spans, line, own, room)
                if other and (best is None or sum(other.times_ns) < sum(best.times_ns)):
                    best = other
            if best == before:
                break
        return best

    def _saved(self, first: int, last: int) -> int:
        stages = self._problem.instance.stages[first - 1 : last]
        return int(self._times.sizes(np.array([stage.saved_bytes for stage in stages])).sum())

    def _first_best(
        self,
        device: int,
        spans: Spans,
        kept: NDArray[np.int64],
        own: NDArray[np.int64],
        room: int,
    ) -> Budgeted | None:
        """Return the best of several budgets, shape (count, chunks)."""
        held = kept + own[None, :]
        times, memories = [], []
        for chunk, (first, last) in enumerate(spans):
            others = (held @ self._loads[device - 1][chunk].T).max(axis=1)
            memory = room - others - own[chunk]
            times.append(self._times.least(first, last, kept[:, chunk], memory))
            memories.append(memory)
        whole = np.minimum(np.array(times), NEVER_NS // (2 * self._chunks)).sum(axis=0)
        at = int(whole.argmin())
        found = tuple(int(time[at]) for time in times)
        if max(found) >= NEVER_NS:
            return None
        return Budgeted(
            found, tuple(int(k) for k in kept[at]), tuple(int(memory[at]) for memory in memories)
        )
