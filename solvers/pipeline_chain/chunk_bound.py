r"""Lower bound on interleaved steps: paths and memory priced, a shortest path over the cuts.

Let part :math:`j` be on device :math:`r(j)`, and :math:`\tau_j = f_j + b_j` the time of its two
phases for a micro-batch, sends included. A path :math:`\pi` through the phases of the step
(`chunk_paths`) bounds the step of all cuts:

.. math:: T \ge X_\pi = \sum_j n^b_{\pi j} \tau_j + (n^f_{\pi j} - n^b_{\pi j}) f_j.

With weights :math:`\lambda_\pi \ge 0` of sum :math:`\Lambda`, :math:`\Lambda T` is at least
:math:`\sum_\pi \lambda_\pi X_\pi`, which is :math:`\sum_j A_j \tau_j + F_j f_j` with numbers that
depend on the part only.

After a forward phase of device :math:`r` that leaves most in flight, each chunk :math:`j` has
:math:`n_j` micro-batches that keep :math:`a_j + \kappa_j` each. What they and the resident bytes
are together is at most :math:`M`: with prices :math:`\mu_r \ge 0` the sum of

.. math:: A_j \tau_j + F_j f_j + \mu_{r(j)} \bigl( \text{resident}_j + n_j (a_j + \kappa_j) \bigr)

over the parts, less :math:`\sum_r \mu_r M`, is a lower bound on :math:`\Lambda T`. Each term is of
one part: its least value over :math:`\kappa_j`, with :math:`\tau_j \ge T(\kappa_j, \cdot)` from the
table that is rounded down, is the length of an edge, and the shortest path over all cuts is a bound
for every choice of paths, :math:`\lambda` and :math:`\mu`. All weights and prices are whole
numbers, so that the bound is exact. `chunk_prices` chooses them.

A part alone has the memory that is left beside its own resident bytes and the other micro-batches
of its own: :math:`K_j - 1` where a phase begins with so many of them, the fewer of both phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.schedules.pipeline_chain.phase_order import device_turns, largest_loads
from jettison.solvers.pipeline_chain.chunk_paths import Counts, PhasePaths
from jettison.solvers.pipeline_chain.chunk_prices import ChunkPrices
from jettison.solvers.pipeline_chain.chunk_times import ChunkTimes
from jettison.solvers.pipeline_chain.cutting import Spans
from jettison.solvers.pipeline_chain.device_times import NEVER_NS, PipelineNeeds

_FAR = 2**61
# The weights of the paths sum up to this, unless numbers would grow too large.
_WEIGHT = 2**20
# The choice of weights and prices ends where another could raise the bound by this share at most.
_CLOSE = 3e-4


@dataclass(frozen=True)
class ChunkBound:
    """Bound on interleaved steps.

    Attributes
    ----------
    time_ns
        The bound; None if no persistent schedule with so many chunks fits.
    paths
        The cuts of the shortest paths, the last ones first: a start for a search.
    """

    time_ns: int | None
    paths: tuple[Spans, ...]


@dataclass(frozen=True)
class _Shortest:
    """Shortest path over the cuts: its length, and of its parts the times and the memory."""

    value: int
    spans: Spans
    times: NDArray[np.float64]
    forward: NDArray[np.float64]
    excess: NDArray[np.float64]


class ChunkBounds:
    """Bounds for one number of chunks.

    Parameters
    ----------
    needs, chunks
        The problem, and the parts of each device.
    times
        Table of the chunks, rounded down, whose top is no less than any memory.
    """

    def __init__(self, needs: PipelineNeeds, chunks: int, times: ChunkTimes) -> None:
        problem, count = needs.problem, len(needs.chain)
        self._problem, self._parts = problem, problem.devices * chunks
        self._longest, self._count = times.longest, count
        kept = np.arange(times.slots + 1)
        self._kept = kept
        self._kept_bytes = (-(-(kept.astype(object) * times.top_bytes) // times.slots)).astype(
            np.int64
        )
        # By part, first stage and further stages: the times that less kept does not have, and the
        # bytes; filled up to the most of them that any part has.
        curves: dict[tuple[int, int, int], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        counts = self._counts(chunks)
        self._paths = PhasePaths(problem.devices, chunks, problem.microbatches)
        for last in range(1, count + 1):
            rows = times.ending_with(last)
            for length in range(1, rows.shape[0] + 1):
                for part, (waiting, counted) in enumerate(counts, start=1):
                    first = last - length + 1
                    if self._is_possible(part, first, last):
                        curve = self._curve(
                            needs, times, rows[-length], part, (first, last), waiting, counted
                        )
                        curves[part - 1, first - 1, length - 1] = curve
        most = max((len(found) for found, _ in curves.values()), default=1)
        shape = (self._parts, count, times.longest, max(1, most))
        self._times = np.full(shape, NEVER_NS, dtype=np.int64)
        self._bytes = np.zeros(shape, dtype=np.int64)
        self._forward = np.zeros(shape[:3], dtype=np.int64)
        before = np.cumsum([0, *(stage.forward_ns for stage in needs.chain)])
        for at, (found, held) in curves.items():
            part, first, more = at
            sends = problem.send_forward_ns(part + 1, first + more + 1, self._parts)
            self._forward[at] = before[first + more + 1] - before[first] + sends
            self._times[at][: len(found)] = found
            self._bytes[at][: len(held)] = held

    def _counts(self, chunks: int) -> list[tuple[int, int]]:
        """Return for each part what waits at the least when it runs, and what is counted of it."""
        devices = self._problem.devices
        found = [(0, 0)] * self._parts
        for device in range(1, devices + 1):
            turns = device_turns(devices, device, chunks, self._problem.microbatches)
            loads = largest_loads(turns, devices, chunks)
            most = [0] * chunks
            for load in loads:
                after = list(load.waiting)
                after[load.chunk] += 1
                if not load.is_backward and sum(after) > sum(most):
                    most = after
            for chunk in range(chunks):
                waiting = [
                    max(
                        load.waiting[chunk]
                        for load in loads
                        if load.is_backward is backward and load.chunk == chunk
                    )
                    for backward in (False, True)
                ]
                found[device - 1 + chunk * devices] = (min(waiting), most[chunk])
        return found

    def _is_possible(self, part: int, first: int, last: int) -> bool:
        """Tell whether every part before and behind has a stage, and the ends have the ends."""
        before, behind = part - 1, self._parts - part
        return (first == 1 if before == 0 else first > before) and (
            last == self._count if behind == 0 else last <= self._count - behind
        )

    def _curve(
        self,
        needs: PipelineNeeds,
        times: ChunkTimes,
        own: NDArray[np.int64],
        part: int,
        span: tuple[int, int],
        waiting: int,
        counted: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        problem, parts = self._problem, self._parts
        first, last = span
        entering = needs.chain.activation_bytes(first - 1)
        resident = problem.resident_bytes(part, first, last, parts)
        room = times.memory(problem.memory_bytes - resident - (waiting + 1) * entering)
        found = times.read(own, self._kept, room - waiting * self._kept)
        least = np.minimum.accumulate(found)
        drops = np.flatnonzero(found < np.concatenate(([NEVER_NS], least[:-1])))
        sends = problem.send_forward_ns(part, last, parts)
        sends += problem.send_backward_ns(part, first)
        held = resident + counted * (entering + self._kept_bytes[drops])
        return found[drops] + sends, held

    def best(self, upper_ns: int | None, rounds: int) -> ChunkBound:
        """Return the best bound of some rounds, each with other weights and prices.

        Parameters
        ----------
        upper_ns
            A step that is known; no bound above it is asked for.
        rounds
            Number of rounds.
        """
        whole = self._weight()
        prices = ChunkPrices(self._paths.first(), self._problem.devices, self._problem.memory_bytes)
        best, spans = 0, []
        for _ in range(rounds):
            weights = np.floor(prices.shares * whole).astype(np.int64)
            weights[int(weights.argmax())] += whole - int(weights.sum())
            per_byte = np.round(prices.per_byte * whole).astype(np.int64)
            found = self._evaluate(prices.paths, weights, per_byte)
            if found is None:
                return ChunkBound(None, ())
            spans.append(found.spans)
            bound_ns = -(-found.value // whole)
            best = max(best, bound_ns)
            if upper_ns is not None and best >= upper_ns:
                break
            mixed = prices.next(found.value / whole, found.times, found.forward, found.excess)
            path = self._paths.longest(mixed.forward, mixed.times - mixed.forward)
            if not prices.add_path(path) and mixed.most_ns <= best * (1 + _CLOSE):
                break
        return ChunkBound(best, tuple(reversed(list(dict.fromkeys(spans)))))

    def _weight(self) -> int:
        finite = self._times[self._times < NEVER_NS]
        # No path has more phases than there are.
        longest = int(finite.max(initial=1)) * 2 * self._problem.microbatches * self._parts
        return max(1, min(_WEIGHT, _FAR // 8 // max(1, longest)))

    def _evaluate(
        self, paths: Sequence[Counts], weights: NDArray[np.int64], prices: NDArray[np.int64]
    ) -> _Shortest | None:
        """Return the shortest path for weights and prices; None if no cuts fit."""
        devices, parts, count = self._problem.devices, self._parts, self._count
        most_price = _FAR // 4 // (parts * max(1, int(self._bytes.max(initial=1))))
        prices = np.minimum(prices, most_price)
        on_times = _sum_of(weights, [path.backward for path in paths])
        on_forward = _sum_of(weights, [path.forward for path in paths]) - on_times
        best = np.full(count + 1, _FAR, dtype=np.int64)
        best[0] = 0
        chosen: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for part in range(parts):
            own = self._times[part]
            fits = own < NEVER_NS
            costs = np.where(fits, own, 0) * on_times[part]
            costs += prices[part % devices] * self._bytes[part]
            costs += (on_forward[part] * self._forward[part])[:, :, None]
            costs[~fits] = _FAR
            budget = costs.argmin(axis=2)
            edges = np.take_along_axis(costs, budget[:, :, None], axis=2)[:, :, 0]
            after = np.full(count + 1, _FAR, dtype=np.int64)
            source = np.zeros(count + 1, dtype=np.int64)
            for length in range(1, min(self._longest, count) + 1):
                before = best[: count - length + 1]
                edge = edges[: count - length + 1, length - 1]
                known = (before < _FAR) & (edge < _FAR)
                through = np.where(known, np.where(known, before, 0) + edge, _FAR)
                better = through < after[length:]
                after[length:][better] = through[better]
                source[length:][better] = length
            chosen.append((source, budget))
            best = after
        if best[count] >= _FAR:
            return None
        spans: list[tuple[int, int]] = []
        times, forward = np.zeros(parts), np.zeros(parts)
        excess = np.full(devices, -float(self._problem.memory_bytes))
        last = count
        for part in reversed(range(parts)):
            source, budget = chosen[part]
            length = int(source[last])
            at = (part, last - length, length - 1)
            kept = int(budget[last - length, length - 1])
            spans.append((last - length + 1, last))
            times[part], forward[part] = self._times[at][kept], self._forward[at]
            excess[part % devices] += float(self._bytes[at][kept])
            last -= length
        value = int(best[count]) - int(prices.sum()) * self._problem.memory_bytes
        return _Shortest(value, tuple(reversed(spans)), times, forward, excess)


def _sum_of(weights: NDArray[np.int64], counts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the weighted sum of the counts."""
    return np.asarray(weights @ np.array(counts), dtype=np.int64)
