r"""Greedy timing of operations and transfers: Algorithm 2 of the paper on weight offloading.

The operations run in the order of the cycle. Right before :math:`B_k` in the order comes the
prefetch of :math:`w_k` if :math:`(k, 1)` is chosen, right before :math:`F_k` if :math:`(k, 0)` is;
after :math:`B_k` the upload if :math:`(k, 0)` is chosen, after :math:`F_k` if only
:math:`(k, 1)` is. In this order everything starts as soon as its data and its lane of the link or
the device are free, and its memory is free from then on beside all that comes before it in the
order. A *cut* puts the first prefetches before :math:`B_L`; all cuts are tried. The step is run
until it repeats; its transfers may then straddle its end.

Weights with :math:`(k, 1)` alone can be uploaded before :math:`F_k`. After each backward, while the
link has been free for longer than the smallest of them takes, it is uploaded now.

How the paper is read, so that its Table 1 comes out within a millisecond:

- :math:`B_k` and :math:`F_k` wait for memory as prefetches do: a backward for its gradients
  :math:`|w_k|`, too. The print has them start when the weights have arrived.
- An early upload starts no earlier than its own backward ends. The print has it start when the link
  is free, which may be before, with weights that are about to change.
- The print compares bytes with time where it asks whether an early upload fits. Here it is the time
  of the transfer.
- It looks for early uploads only where :math:`(k, 0)` is chosen. Here it is after each backward,
  "whenever the communication link is available": row GPT-2 38, 16 of the table needs it.
- What need not be uploaded any more is deleted when :math:`F_k` ends, or its own upload. The print
  waits for the link to be free, which only costs time.
- In Greedy* uploads may be early all the same; it is weights with both choices that are uploaded a
  second time.

Internally an operation without duration takes a fraction of a nanosecond, so that events have a
strict order; the fractions never add up to one.

Source: Section 5, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers import _kernels
from jettison.solvers.weight_offload.greedy.selection import Absence, Choice

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
    """Whether one upload after the backward serves both deletions of a layer's weights."""

    USED = "used"
    NOT_USED = "not used"


class WeightScheduler:
    """Algorithm 2 for one problem, with the best of all cuts for any choices.

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
        # On a link that both directions share, each is planned with the rate that it always has.
        cycle, link = problem.cycle, problem.link.always_available
        transfer_ns = [link.transfer_ns(size_bytes) for size_bytes in cycle.weight_bytes]
        self._layers = cycle.num_layers
        # More memory than everything needs changes nothing.
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
        self,
        choices: Iterable[Choice],
        discount: Discount = Discount.USED,
        time_limit_s: float | None = None,
    ) -> int | None:
        """Return the least period over all cuts, or None if the choices do not fit.

        Raises
        ------
        TimeoutError
            When the time is up.
        """
        best = self._kernel.best_cut(
            self._absences(choices), discount is Discount.USED, time_limit_s
        )
        return None if best is None else best[0]

    def schedule(
        self,
        choices: Iterable[Choice],
        discount: Discount = Discount.USED,
        time_limit_s: float | None = None,
    ) -> CyclicSchedule | None:
        """Return the schedule of the best cut, or None if the choices do not fit.

        Raises
        ------
        TimeoutError
            When the time is up.
        """
        absences, has_discount = self._absences(choices), discount is Discount.USED
        best = self._kernel.best_cut(absences, has_discount, time_limit_s)
        if best is None:
            return None
        return _to_schedule(self._kernel.schedule(absences, has_discount, best[1]))

    def search(self, choices: Iterable[Choice], floor_ns: int, seed: int) -> PlanSearch:
        """Return a local search that starts with the schedule of these choices, which must fit.

        Parameters
        ----------
        floor_ns
            The search stops when it reaches this period.
        seed
            Seed of the random changes.
        """
        absences = self._absences(choices)
        best = self._kernel.best_cut(absences, True)
        if best is None:
            raise ValueError("the choices do not fit")
        return PlanSearch(_kernels.PlanSearch(self._kernel, absences, best[1], floor_ns, seed))

    def _absences(self, choices: Iterable[Choice]) -> NDArray[np.uint8]:
        absences = np.zeros(self._layers, np.uint8)
        for layer, absence in choices:
            absences[layer - 1] |= _BITS[absence]
        return absences


class PlanSearch:
    """Local search over choices and orders; see ``_native/weight_offload/search.hpp``.

    Parameters
    ----------
    kernel
        The native search.
    """

    def __init__(self, kernel: _kernels.PlanSearch) -> None:
        self._kernel = kernel

    def run(self, changes: int, time_limit_s: float | None = None) -> None:
        """Try a number of random changes.

        Raises
        ------
        TimeoutError
            When the time is up; what was found is kept.
        """
        self._kernel.run(changes, time_limit_s)

    @property
    def period_ns(self) -> int:
        """The best period so far."""
        return self._kernel.period_ns

    @property
    def tried(self) -> int:
        """Number of changes that have been tried."""
        return self._kernel.tried

    @property
    def tried_in_vain(self) -> int:
        """Number of changes that have been tried since the best period was found."""
        return self._kernel.tried_in_vain

    @property
    def schedule(self) -> CyclicSchedule:
        """The schedule of the best period."""
        return _to_schedule(self._kernel.schedule())


def _to_schedule(found: tuple[int, list[tuple[int, int, int]]] | None) -> CyclicSchedule:
    assert found is not None
    period_ns, events = found
    return CyclicSchedule(
        period_ns,
        tuple(CyclicEvent(_KINDS[kind], layer + 1, start) for start, kind, layer in events),
    )


def schedule_selection(
    problem: WeightOffload, choices: Iterable[Choice], discount: Discount = Discount.USED
) -> CyclicSchedule | None:
    """Return the best schedule of Algorithm 2 over all cuts, or None if the choices do not fit."""
    return WeightScheduler(problem).schedule(choices, discount)
