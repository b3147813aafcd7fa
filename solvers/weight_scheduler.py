"""Algorithm 2 of the paper on weight offloading."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from jettison.instances.weight_offload import WeightOffload
from jettison.schedules.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.cyclic_schedule import CyclicSchedule
from jettison.solvers import _kernels
from jettison.solvers.weight_selection import Absence, Choice

# The bits of the kernel for the absences of a layer, and its kinds of events in their order.
_BITS = {Absence.AFTER_BACKWARD: 1, Absence.AFTER_FORWARD: 2}
_KINDS = (
    CyclicEventKind.BACKWARD,
    CyclicEventKind.FORWARD,
    CyclicEventKind.PREFETCH,
    CyclicEventKind.UPLOAD,
    CyclicEventKind.DELETE,
)


class Discount(Enum):
    """Whether one upload after the backward serves both deletions of a layer."""

    USED = "used"
    NOT_USED = "not used"


class WeightScheduler:
    """Algorithm 2 for one problem: for any choices, all cuts.

    Parameters
    ----------
    problem
        Chain, memory and link.

    Raises
    ------
    OverflowError
        If the times are too long for 64-bit integers.
    """

    def __init__(self, problem: WeightOffload) -> None:
        cycle, link = problem.cycle, problem.link
        transfer_ns = [link.transfer_ns(size_bytes) for size_bytes in cycle.weight_bytes]
        self._layers = cycle.num_layers
        # More memory than everything needs is no use.
        memory_bytes = min(problem.memory_bytes, cycle.no_offload_peak_bytes)
        self._kernel = _kernels.WeightScheduler(
            np.array([item.duration_ns for item in cycle], np.int64),
            np.array([item.working_bytes for item in cycle], np.int64),
            np.array([item.resting_bytes for item in cycle], np.int64),
            np.array(cycle.weight_bytes, np.int64),
            np.array(transfer_ns, np.int64),
            memory_bytes,
        )

    def period_ns(
        self, choices: Iterable[Choice], discount: Discount = Discount.USED
    ) -> int | None:
        """Return the least period over all cuts, or None if the choices do not fit."""
        best = self._kernel.best_cut(self._absences(choices), discount is Discount.USED)
        return None if best is None else best[0]

    def schedule(
        self, choices: Iterable[Choice], discount: Discount = Discount.USED
    ) -> CyclicSchedule | None:
        """Return the schedule of the best cut, or None if the choices do not fit."""
        absences, has_discount = self._absences(choices), discount is Discount.USED
        best = self._kernel.best_cut(absences, has_discount)
        if best is None:
            return None
        found = self._kernel.schedule(absences, has_discount, best[1])
        assert found is not None
        period_ns, events = found
        return CyclicSchedule(
            period_ns,
            tuple(CyclicEvent(_KINDS[kind], layer + 1, start) for start, kind, layer in events),
        )

    def _absences(self, choices: Iterable[Choice]) -> NDArray[np.uint8]:
        absences = np.zeros(self._layers, np.uint8)
        for layer, absence in choices:
            absences[layer - 1] |= _BITS[absence]
        return absences


def schedule_selection(
    problem: WeightOffload, choices: Iterable[Choice], discount: Discount = Discount.USED
) -> CyclicSchedule | None:
    """Return the best schedule of Algorithm 2 over all cuts, or None if the choices do not fit."""
    return WeightScheduler(problem).schedule(choices, discount)


def period_of(
    problem: WeightOffload, choices: Iterable[Choice], discount: Discount = Discount.USED
) -> int | None:
    """Return the period of `schedule_selection` in ns, without the events."""
    return WeightScheduler(problem).period_ns(choices, discount)
