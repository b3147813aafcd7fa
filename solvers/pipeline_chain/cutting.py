r"""Cuts of a pipeline, given what a micro-batch takes on each device: bottleneck, bound, search.

Let device :math:`i` be busy for :math:`\tau_i` with each micro-batch, sends included, of which
:math:`f_i` is its forward phase with its send; no recomputation changes :math:`f_i`.

*Bottleneck.* Each further micro-batch adds :math:`\max_i \tau_i` to a long step, and

.. math:: P(i,t) = \min_s \max(P(i-1,s-1), \tau_i(s,t))

is its least value over all cuts.

*Lower bound on the step.* Before device :math:`i` starts, the first micro-batch is on the devices
before it; it is busy for :math:`m \tau_i`; and then the last one returns through them. Between, the
first gradient comes only after the first micro-batch has been on all devices behind it, while
device :math:`i` has :math:`K_i - 1` further forward phases to run, and no more. So every schedule
with these cuts takes at least

.. math:: T = \max_i \Bigl( m \tau_i + \sum_{j<i} \tau_j
              + \max\bigl(0, \sum_{j>i} \tau_j - (K_i - 1) f_i\bigr) \Bigr).

From the last device to the first, :math:`T` and :math:`\sum_j \tau_j` of the devices so far are all
that matters of them, and less of either is never worse: a dynamic program over the pairs that no
other pair beats gives the least :math:`T` of all cuts.

*Search.* The 1F1B timeline never ends later if a phase is shorter, so that the least :math:`\tau_i`
is the best for every cut; depth first over the cuts, those whose bound reaches the best step known
left out, finds the fastest step. The order is by bound, so that the first ones are good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.pipeline_chain.phase_timeline import PhaseTimes, run_1f1b
from jettison.solvers.pipeline_chain.device_times import NEVER_NS, PipelineNeeds

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Cutting:
    """Cuts of a pipeline with given times.

    Attributes
    ----------
    problem, needs
        The problem.
    busy_ns
        Times by device, first and last stage; `NEVER_NS` where nothing fits.
    """

    problem: PipelineChain
    needs: PipelineNeeds
    busy_ns: NDArray[np.int64]

    @property
    def _count(self) -> int:
        return len(self.needs.chain)

    def busy_of(self, spans: Spans) -> list[int]:
        """Return the time of each device."""
        return [
            int(self.busy_ns[at, first - 1, last - 1]) for at, (first, last) in enumerate(spans)
        ]

    def least_bottleneck(self) -> tuple[int, Spans] | None:
        """Return the least bottleneck of all cuts, and cuts that have it; None if nothing fits."""
        devices, count = self.problem.devices, self._count
        best = np.full(count + 1, NEVER_NS, dtype=np.int64)
        best[0] = 0
        chosen = []
        for at in range(devices):
            through = np.maximum(best[:count, None], self.busy_ns[at])
            chosen.append(through.argmin(axis=0))
            best = np.concatenate(([NEVER_NS], through.min(axis=0)))
        if best[count] >= NEVER_NS:
            return None
        spans, last = [], count
        for at in reversed(range(devices)):
            first = int(chosen[at][last - 1]) + 1
            spans.append((first, last))
            last = first - 1
        return int(best[count]), tuple(reversed(spans))

    def step_ns(self, spans: Spans) -> int | None:
        """Return the time of the step with these cuts; None if a device has no room."""
        busy = self.busy_of(spans)
        if max(busy) >= NEVER_NS:
            return None
        times = []
        for at, ((first, last), whole) in enumerate(zip(spans, busy, strict=True)):
            sends = self.problem.send_forward_ns(at + 1, last)
            returns = self.problem.send_backward_ns(at + 1, first)
            forward = int(self.needs.forward_ns[at, first - 1, last - 1]) - sends
            times.append(PhaseTimes(forward, whole - forward - sends - returns, sends, returns))
        ran = run_1f1b(times, self.problem.microbatches)
        return max(phase.sent_ns for phases in ran for phase in phases)

    def bound_ns(self, spans: Spans) -> int:
        """Return the lower bound :math:`T` on the step with these cuts."""
        bound = total = 0
        for at in reversed(range(len(spans))):
            bound, total = self._extended(at, spans[at], bound, total)
        return bound

    def _extended(self, at: int, span: tuple[int, int], bound: int, total: int) -> tuple[int, int]:
        first, last = span
        busy = int(self.busy_ns[at, first - 1, last - 1])
        forward = int(self.needs.forward_ns[at, first - 1, last - 1])
        waits = max(0, total - (self.problem.in_flight(at + 1) - 1) * forward)
        return max(bound + busy, self.problem.microbatches * busy + waits), total + busy

    def bottlenecks_with(self) -> NDArray[np.int64]:
        """Return the least bottleneck of all cuts with each part, by device and stages."""
        devices, count = self.problem.devices, self._count
        ahead = [np.full(count, NEVER_NS, dtype=np.int64) for _ in range(devices)]
        ahead[0][0] = 0
        behind = [np.full(count, NEVER_NS, dtype=np.int64) for _ in range(devices)]
        behind[-1][-1] = 0
        for at in range(devices - 1):
            least = np.maximum(ahead[at][:, None], self.busy_ns[at]).min(axis=0)
            ahead[at + 1][1:] = least[:-1]
        for at in reversed(range(1, devices)):
            least = np.maximum(behind[at][None, :], self.busy_ns[at]).min(axis=1)
            behind[at - 1][:-1] = least[1:]
        around = np.maximum(np.array(ahead)[:, :, None], np.array(behind)[:, None, :])
        return np.maximum(around, self.busy_ns)

    def bounds_with(self) -> NDArray[np.int64]:
        r"""Return a lower bound on the bounds :math:`T` of all cuts with each part.

        Sums over other devices are the least ones of any cuts, and those of the least bounds, so
        that each part takes constant time. `NEVER_NS` where there are no such cuts.
        """
        devices, count = self.problem.devices, self._count
        sums = self._sums_before()
        # By the first stage of a device: least sum and least bound of it and of those behind it.
        sums_from = [np.full(count + 1, NEVER_NS, dtype=np.int64) for _ in range(devices + 1)]
        bounds_from = [np.full(count + 1, NEVER_NS, dtype=np.int64) for _ in range(devices + 1)]
        sums_from[devices][count] = bounds_from[devices][count] = 0
        own = np.empty_like(self.busy_ns)
        for at in reversed(range(devices)):
            later = (self.problem.in_flight(at + 1) - 1) * self.needs.forward_ns[at]
            waits = np.maximum(0, sums_from[at + 1][None, 1:] - later)
            own[at] = _plus(self.problem.microbatches * self._finite(at), waits)
            own[at][self.busy_ns[at] >= NEVER_NS] = NEVER_NS
            behind = np.maximum(own[at], _plus(self.busy_ns[at], bounds_from[at + 1][None, 1:]))
            sums_from[at][:count] = _plus(self.busy_ns[at], sums_from[at + 1][None, 1:]).min(axis=1)
            bounds_from[at][:count] = behind.min(axis=1)
        # Least bound of the devices before one, by its first stage.
        before = np.full(count, NEVER_NS, dtype=np.int64)
        before[0] = 0
        found = np.empty_like(own)
        for at in range(devices):
            rest = np.maximum(own[at], _plus(self.busy_ns[at], bounds_from[at + 1][None, 1:]))
            here = np.maximum(before[:, None], _plus(own[at], sums[at][:, None]))
            found[at] = np.maximum(here, _plus(rest, sums[at][:, None]))
            before = np.concatenate(([NEVER_NS], here.min(axis=0)[:-1]))
        return found

    def _finite(self, at: int) -> NDArray[np.int64]:
        times: NDArray[np.int64] = np.where(self.busy_ns[at] >= NEVER_NS, 0, self.busy_ns[at])
        return times

    def faster_than(self, limit_ns: Callable[[], int]) -> Iterator[tuple[int, Spans]]:
        """Yield all cuts with a bound below a limit, depth first, with their bounds.

        The limit is asked for again and again: it may fall as faster steps are found.
        """
        before = self._sums_before()
        count = self._count

        def behind(
            at: int, first: int, spans: Spans, bound: int, total: int
        ) -> Iterator[tuple[int, int, int, Spans]]:
            # The devices from `at` + 1 on have the stages from `first` on.
            options = []
            starts = [1] if at == 0 else range(at + 1, first)
            for start in starts:
                if self.busy_ns[at, start - 1, first - 2] >= NEVER_NS:
                    continue
                span = (start, first - 1)
                longer, whole = self._extended(at, span, bound, total)
                options.append((longer + int(before[at][start - 1]), longer, whole, span))
            for least, longer, whole, span in sorted(options):
                yield least, longer, whole, (span, *spans)

        stack = [behind(self.problem.devices - 1, count + 1, (), 0, 0)]
        while stack:
            found = next(stack[-1], None)
            if found is None:
                stack.pop()
                continue
            least, bound, total, spans = found
            if least >= limit_ns():
                stack.pop()  # they come in the order of their bounds
                continue
            if len(spans) == self.problem.devices:
                yield bound, spans
                continue
            at = self.problem.devices - len(spans) - 1
            stack.append(behind(at, spans[0][0], spans, bound, total))

    def _sums_before(self) -> list[NDArray[np.int64]]:
        """Return the least sum of the times before a device that begins with a stage."""
        count = self._count
        sums = [np.full(count, NEVER_NS, dtype=np.int64)]
        sums[0][0] = 0
        for at in range(self.problem.devices - 1):
            through = np.minimum(sums[-1][:, None] + self.busy_ns[at], NEVER_NS).min(axis=0)
            sums.append(np.concatenate(([NEVER_NS], through[:-1])))
        return sums


def _plus(some: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sums, `NEVER_NS` where one of two has no end; two of these fit 64 bits."""
    sums: NDArray[np.int64] = np.minimum(some + others, NEVER_NS)
    return sums
