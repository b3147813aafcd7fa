r"""Least memory in which several models can be trained, in a closed form.

While an operator runs, its sub-array has its static memory and the peak of the operator; with every
feature map swapped, and each pass of a pair run without the other, nothing else is there. So a unit
of sub-arrays :math:`U` runs in

.. math::
    \sum_{a \in U} \text{static}(a) + \max_{a \in U} \max_p \text{peak}_a(p) ,

and in no less. A pair needs at least what either of its sub-arrays needs alone, and units are
trained one after another; so the least memory is

.. math::
    \min_{a_1 + \dots + a_m = n} \; \max_i \;
        \bigl( \text{static}(a_i) + \max_p \text{peak}_{a_i}(p) \bigr)

over the ways to divide n models into sub-arrays, and of several architectures the largest of
these.
"""

from __future__ import annotations

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Infeasibility


def least_array_bytes(array: SubArray) -> int:
    """Return the least memory in which a sub-array can be trained alone."""
    return array.static_bytes + array.largest_peak_bytes


def multi_model_infeasibility(problem: MultiModelTraining) -> Infeasibility | None:
    """Return the proof that no schedule fits, or None if one does.

    Notes
    -----
    Time O(n s) for n models and s sizes of sub-arrays.
    """
    largest = _largest_array(problem)
    needed_bytes = least_array_bytes(largest)
    if needed_bytes <= problem.memory_bytes:
        return None
    name = max(largest.forward + largest.backward, key=lambda work: work.peak_bytes).name
    fused = "" if largest.models == 1 else f" of {largest.models} fused models"
    return Infeasibility(
        valid_for=ScheduleClass.ALL,
        least_memory_bytes=needed_bytes,
        is_exact=True,
        needed_by=f"{name}{fused}",
    )


def _largest_array(problem: MultiModelTraining) -> SubArray:
    """Return the sub-array that needs most memory in the division of least memory."""
    return max(
        (_largest_of(problem, place, count) for place, count in enumerate(problem.counts)),
        key=least_array_bytes,
    )


def _largest_of(problem: MultiModelTraining, architecture: int, count: int) -> SubArray:
    """Return that of one architecture."""
    found: list[SubArray | None] = [None] * (count + 1)
    own = problem.instance.architectures[architecture]
    for total in range(1, count + 1):
        candidates = []
        for size in own.sizes:
            if size > total or (size < total and found[total - size] is None):
                continue
            array, rest = own.fused(size), found[total - size]
            candidates.append(array if rest is None else max(array, rest, key=least_array_bytes))
        found[total] = min(candidates, key=least_array_bytes, default=None)
    largest = found[count]
    # The problem has checked that the sizes add up.
    assert largest is not None
    return largest
