r"""Capuchin on fused models: swaps in order of free time, recomputation by memory saved per second.

Source: Peng et al. 2020 (ASPLOS), Section 4; µ-TWO's baseline HFTA-Capuchin (Appendix B.2.2). The
authors of neither published their code.

The *free time* of a feature map is what is left between its two uses when it has gone and come
back: with :math:`e` the end of its copy to the host and :math:`b` the start of the copy back, which
ends at its first backward use where nothing waits,

.. math:: \text{FT} = b - e .

Of several candidates the one with the largest free time is swapped. Its overhead is
:math:`\max(0, -\text{FT})`. Where that is not zero, the candidate with the largest

.. math:: \text{MSPS} = \frac{\text{memory saving}}{\text{recomputation time}}

is offered for recomputation, and the smaller overhead decides, until what is left fits.

Readings
--------
- Recomputation times follow from the lineage of what has been chosen. µ-TWO adapted that part from
  Capuchin (Appendix A.4), and it is shared (`mu_two.recomputes`).
- One copy at a time has the link, each way. A copy to the host takes the first time after the last
  forward use that is free on the link, a copy back the last one before the first backward use; what
  was chosen before keeps its times.
- Capuchin issues a prefetch at the back-access minus its time, and moves it earlier each iteration
  until nothing waits for it. `executor.prefetches` places it where this process ends: just in time
  beside all others.
- When the memory of a plan is measured, a prefetched feature map is in memory from the operator on
  in which its copy begins.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from functools import partial

import numpy as np

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.multi_model.all_fused import all_fused
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions
from jettison.solvers.multi_model.least_division import Sizes
from jettison.solvers.multi_model.mu_two.merged_graph import IdleMemory, MergedGraph
from jettison.solvers.multi_model.mu_two.policy import simulated_peak_bytes
from jettison.solvers.multi_model.mu_two.recomputes import RecomputeCalculator
from jettison.solvers.multi_model.mu_two.unit import (
    POLICY,
    PolicyParams,
    ScheduledUnit,
    fitted_unit,
)


def solve_capuchin(
    problem: MultiModelTraining, options: SolveOptions, params: PolicyParams = POLICY
) -> Outcome:
    """Fuse all models, and swap and recompute as Capuchin does.

    Notes
    -----
    At most seven times the policy and the executor; the policy takes :math:`O(T (T s + n))`
    for T feature maps, s swaps and n operators.
    """
    return all_fused(problem, partial(capuchin_unit, params=params))


def capuchin_unit(
    problem: MultiModelTraining, sizes: Sizes, params: PolicyParams = POLICY
) -> ScheduledUnit | None:
    """Schedule a sub-array alone by Capuchin's policy; None if nothing that it tries fits."""
    (size,) = sizes
    array = problem.sub_array(size)
    swap_ns = problem.swap_ns(array)
    return fitted_unit(
        problem, sizes, lambda limit_bytes: capuchin_decisions(array, swap_ns, limit_bytes), params
    )


class Lane:
    """One direction of the link, with the intervals in which it is busy."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, int]] = []

    def first_from(self, begin_ns: int, copy_ns: int) -> int:
        """Return the earliest start of a copy that does not start before `begin_ns`."""
        for start_ns, end_ns in self._taken:
            if start_ns >= begin_ns + copy_ns:
                break
            begin_ns = max(begin_ns, end_ns)
        return begin_ns

    def last_until(self, end_ns: int, copy_ns: int) -> int:
        """Return the latest start of a copy that does not end after `end_ns`."""
        for taken_ns, until_ns in reversed(self._taken):
            if until_ns <= end_ns - copy_ns:
                break
            end_ns = min(end_ns, taken_ns)
        return end_ns - copy_ns

    def take(self, start_ns: int, copy_ns: int) -> None:
        """Reserve the link, which must be free, for a copy."""
        insort(self._taken, (start_ns, start_ns + copy_ns))


class FreeTimes:
    """Free times of the feature maps of a sub-array alone, beside the copies chosen so far.

    Parameters
    ----------
    array
        The fused models.
    swap_ns
        Time of a copy of each feature map.
    """

    def __init__(self, array: SubArray, swap_ns: tuple[int, ...]) -> None:
        self._array = array
        self._swap_ns = swap_ns
        ends = np.cumsum([work.run_ns for work in array.forward])
        starts = ends[-1] + np.cumsum([0, *(work.run_ns for work in array.backward)])[:-1]
        self._forward_ends_ns: list[int] = ends.tolist()
        self._backward_starts_ns: list[int] = starts.tolist()
        self._out, self._back = Lane(), Lane()

    def free_ns(self, tensor: int) -> int:
        """Return the free time; negative where its copies do not fit between its uses."""
        copy_ns = self._swap_ns[tensor]
        return self._back_ns(tensor) - self._out_ns(tensor) - copy_ns

    def swap(self, tensor: int) -> int:
        """Choose a swap; return the backward operator in which its copy back begins."""
        copy_ns = self._swap_ns[tensor]
        out_ns = self._out_ns(tensor)
        back_ns = self._back_ns(tensor)
        if back_ns < out_ns + copy_ns:
            back_ns = self._back.first_from(out_ns + copy_ns, copy_ns)
        self._out.take(out_ns, copy_ns)
        self._back.take(back_ns, copy_ns)
        begun = bisect_right(self._backward_starts_ns, back_ns) - 1
        return min(max(begun, 0), self._array.tensors[tensor].first_backward)

    def _out_ns(self, tensor: int) -> int:
        last_forward = self._array.tensors[tensor].last_forward
        return self._out.first_from(self._forward_ends_ns[last_forward], self._swap_ns[tensor])

    def _back_ns(self, tensor: int) -> int:
        first_backward = self._array.tensors[tensor].first_backward
        return self._back.last_until(
            self._backward_starts_ns[first_backward], self._swap_ns[tensor]
        )


def capuchin_decisions(
    array: SubArray, swap_ns: tuple[int, ...], limit_bytes: int
) -> UnitDecisions | None:
    """Decide the fates of the feature maps of a sub-array alone, as Capuchin does.

    Parameters
    ----------
    array
        The fused models.
    swap_ns
        Time of a copy of each feature map.
    limit_bytes
        The memory simulator's peak must not exceed it.

    Returns
    -------
    UnitDecisions or None
        None if everything has left memory and the peak is still higher.
    """
    idle = IdleMemory.all_kept(array)
    graph = MergedGraph(array, None, idle, None, array.static_bytes)
    times = FreeTimes(array, swap_ns)
    recomputes = RecomputeCalculator(array)
    candidates = set(range(len(array.tensors)))
    fates = [Fate.KEEP] * len(array.tensors)
    recomputed: list[int] = []
    waited_ns = 0
    while simulated_peak_bytes(graph) > limit_bytes:
        if not candidates:
            return None
        free_ns, swap = max((times.free_ns(item), -item) for item in candidates)
        swap = -swap
        again = max(candidates, key=lambda item: (recomputes.ratio(item), -item))
        overhead_ns = max(0, -free_ns)
        if overhead_ns == 0 or overhead_ns < recomputes.overhead_ns(again):
            candidates.remove(swap)
            fates[swap] = Fate.SWAP
            waited_ns += overhead_ns
            idle.swap(array.tensors[swap], times.swap(swap))
            recomputes.swapped(swap, recomputed, candidates)
        else:
            candidates.remove(again)
            fates[again] = Fate.RECOMPUTE
            idle.recompute(array.tensors[again])
            recomputes.recomputed(again, recomputed, candidates)
            recomputed.append(again)
    again_ns = sum(recomputes.once_ns[item] for item in recomputed)
    return UnitDecisions(fates=(tuple(fates),), waiting_ns=(waited_ns,), recompute_ns=(again_ns,))
