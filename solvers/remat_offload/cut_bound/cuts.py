r"""Cuts of a chain with offloading: which deadlines they rule out, in exact integers.

At each moment of a stage :math:`\ell` the cut of `formulations.remat_offload.cut` is asked: can a
step take at most :math:`D`? The stages below :math:`\ell` are decided one by one, the highest
first. A state holds the bytes on the device, the time of the copies of what is on the host, and the
time of reruns. A state is dropped if another one is no worse in all three numbers, or if it cannot
meet the deadline: the stages still to be decided have to be held or to run again, and the linear
relaxation of a knapsack bounds what that costs.
Here
:math:`T_k` is the time of the copies of the stages :math:`k, \dots, \ell - 1` in one direction,
:math:`E` the delay, and :math:`f_k, b_k` the time of :math:`F^1..F^k` and :math:`B^1..B^k`:

.. math::
    T_k &\le D - Q - E_{min} - f_k && \text{sent after the first } F^k \text{, before the cut} \\
    T_k &\le D - P - b_k && \text{back after the cut, before } B^k \\
    T_k &\le Q + E - b_k && \text{the same, where only B and reruns come after the cut}

where :math:`E_{min} \le E` is known. The least :math:`E` for which the answer is yes is the rerun
bound of the stage for cuts above it, as in `formulations.remat_chain.cut`: it holds for all steps
that take at most :math:`D`. If some cut answers no for every :math:`E \le D - base`, no step takes
at most :math:`D`. The bound is the least :math:`D` that no cut rules out.

With fluid transfers, where part of a tensor can be on the device and part on the host, whatever is
held beyond the device's memory is on the host: a state then needs only the sum of what is held, and
:math:`T_k` is bounded through that sum. With transfers at once a tensor is on the device or on the
host, and the time of a copy is rounded up as the link does it. An :math:`\bar a^k` on the host then
has to be back as a whole before :math:`B^{k+1}`, although that reads only :math:`a^k`. The
exception is a plain copy of :math:`a^k` beside it, which only another run of :math:`F^k` makes:
before the cut and within :math:`D - base - E_{min}`, or after it, where it counts as a rerun. And
where stages run again from one that is on the host, that one, or a plain copy of it, is back before
they start, and they end before the :math:`B` of the highest of them.

States beyond a limit are merged into one that is at least as good in every number, and times and
bytes are rounded to the side that allows more: both only lower the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.remat_offload.moments import Moment, Place, Places
from jettison.instances.core.link import Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params

# Above every time and size, and small enough to be added to one.
_NEVER = 2**60
_NS_PER_S = 10**9

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class OffloadCutParams(Params):
    """Parameters of the cut bound with offloading: its accuracy.

    Attributes
    ----------
    most_cut_states
        Most states of one stage of a cut; beyond, neighbours are merged. On random chains of 101
        stages more of them do not raise the bound, and 30 prove four fifths of its delay.
    delay_bits
        Accuracy of a delay: it may be too low by this many halvings of the largest delay.
    deadline_bits
        Accuracy of the deadline: the search ends when it is open by this many halvings of the time.
    first_deadline_bits
        First deadline above the base time: by this many halvings of it.
    """

    most_cut_states: int = 300
    delay_bits: int = 8
    deadline_bits: int = 20
    first_deadline_bits: int = 8


OFFLOAD_CUTS = OffloadCutParams()


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays that a deadline forces, stage by stage; position 0 has no meaning.

    Attributes
    ----------
    backward_ns
        Reruns and idle time after the start of the stage's backward.
    saving_ns
        Reruns and idle time after the start of the stage's last F_all.
    """

    backward_ns: list[int] = field(default_factory=lambda: [0])
    saving_ns: list[int] = field(default_factory=lambda: [0])


class OffloadCuts:
    """The cuts of one problem.

    Parameters
    ----------
    problem
        The chain, its memory and its link.
    params
        The accuracy.
    """

    def __init__(self, problem: RematOffloadChain, params: OffloadCutParams = OFFLOAD_CUTS) -> None:
        chain = problem.instance
        self._problem = problem
        self._places = Places(chain, problem.memory_bytes)
        self._most_states = params.most_cut_states
        self._delay_bits = params.delay_bits
        self._plain = np.array([chain.activation_bytes(k) for k in range(len(chain))], np.int64)
        self._saved = np.array(
            [chain.input_bytes, *(stage.saved_bytes for stage in chain)][: len(chain)], np.int64
        )
        self._forward = np.array([0, *(stage.forward_ns for stage in chain)], np.int64)[:-1]
        self._plain_ns = np.array([self._copy_ns(size) for size in self._plain.tolist()], np.int64)
        self._saved_ns = np.array([self._copy_ns(size) for size in self._saved.tolist()], np.int64)
        self._clock = Clock(None)
        self.searches = 0

    def delays(
        self,
        deadline_ns: int,
        at_least: Delays | None = None,
        clock: Clock | None = None,
    ) -> Delays | None:
        """Return the delays of every step within a deadline, or None if there is no such step.

        Parameters
        ----------
        deadline_ns
            At least the base time.
        at_least
            Delays that a later deadline forces; an earlier one forces no less.
        clock
            Its time limit holds for the search.

        Raises
        ------
        TimeoutError
            At the time limit.
        """
        self._clock = clock or Clock(None)
        found = Delays()
        for number in range(1, len(self._problem.instance) + 1):
            delay_ns = 0
            for moment in Moment:
                if not self._clock.left_s:
                    raise TimeoutError
                if at_least is not None and moment is Moment.BACKWARD_START:
                    delay_ns = max(delay_ns, at_least.backward_ns[number])
                if at_least is not None and moment is Moment.SAVING_START:
                    delay_ns = max(delay_ns, at_least.saving_ns[number])
                cut = _Cut(self, self._places.at(number, moment), number, moment)
                least_ns = self._least_delay(cut, deadline_ns, delay_ns, found.saving_ns)
                if least_ns is None:
                    return None
                delay_ns = least_ns
                if moment is Moment.BACKWARD_END:
                    found.backward_ns.append(delay_ns)
            found.saving_ns.append(delay_ns)
        return found

    def _least_delay(
        self, cut: _Cut, deadline_ns: int, least_ns: int, later_ns: Sequence[int]
    ) -> int | None:
        """Return a lower bound on the delay at the cut; None if no delay is allowed there."""
        most_ns = deadline_ns - self._problem.instance.base_time_ns
        if least_ns > most_ns or cut.place.available_bytes < 0:
            return None
        if cut.holds_all():
            return least_ns

        def answers(delay_ns: int) -> bool:
            self.searches += 1
            return self._answers(cut, deadline_ns, least_ns, delay_ns, later_ns)

        if cut.moment.is_of_first:
            return least_ns if answers(most_ns) else None
        if answers(least_ns):
            return least_ns
        if not answers(most_ns):
            return None
        # With fluid transfers a delay need not be a whole number: it may be anything above one that
        # is ruled out.
        above_ns = 0 if self._problem.transfers is Transfers.FLUID else 1
        low_ns, high_ns = least_ns + above_ns, most_ns
        # A delay that is a little too low is a bound as well.
        while high_ns - low_ns > max(1 - above_ns, most_ns >> self._delay_bits):
            middle_ns = (low_ns + high_ns) // 2
            if answers(middle_ns):
                high_ns = middle_ns
            else:
                low_ns = middle_ns + above_ns
        # A delay after the cut leaves less time before it, which may force a larger delay.
        if low_ns - least_ns > most_ns >> self._delay_bits:
            return self._least_delay(cut, deadline_ns, low_ns, later_ns)
        return low_ns

    def _answers(
        self, cut: _Cut, deadline_ns: int, least_ns: int, delay_ns: int, later_ns: Sequence[int]
    ) -> bool:
        """Tell whether some contents of device and host at the cut allow such a delay."""
        number, place = cut.number, cut.place
        forward_ns, backward_ns = self._places.forward_ns, self._places.backward_ns
        after_ns = deadline_ns - place.before_ns
        if cut.moment.is_of_backward:
            after_ns = min(after_ns, place.after_ns + delay_ns)
        sent_by_ns = deadline_ns - place.after_ns - least_ns
        sent_ns = [sent_by_ns - forward_ns[k] for k in range(number)]
        # Until the start of B^k; what the operation at the cut reads is on the device.
        back_ns = [*(after_ns - backward_ns[k] for k in range(number)), 0]
        late_ns = [min(pair) for pair in zip(sent_ns, back_ns[:-1], strict=True)]
        early_ns = [min(pair) for pair in zip(sent_ns, back_ns[1:], strict=True)]
        common = (
            place.available_bytes,
            delay_ns,
            self._plain[:number],
            self._saved[:number],
            self._forward[:number],
            np.array(later_ns, np.int64),
        )
        if self._problem.transfers is Transfers.FLUID:
            return _kernels.cut_allows_fluid(
                *common,
                self._with_host(place.available_bytes, late_ns),
                self._with_host(place.available_bytes, back_ns[1:]),
                self._most_states,
                self._clock.left_s,
            )
        return _kernels.cut_allows_at_once(
            *common,
            deadline_ns - self._problem.instance.base_time_ns - least_ns,
            self._saved_ns[:number],
            self._plain_ns[:number],
            np.array(late_ns, np.int64),
            np.array(early_ns, np.int64),
            np.array(back_ns[:-1], np.int64),
            self._most_states,
            self._clock.left_s,
        )

    def _with_host(self, device_bytes: int, windows_ns: Sequence[int]) -> Integers:
        """Return for each duration of copies how many bytes device and host hold together."""
        rate = self._problem.link.bytes_per_s
        return np.array(
            [min(_NEVER, device_bytes + max(0, ns) * rate // _NS_PER_S) for ns in windows_ns],
            np.int64,
        )

    def _copy_ns(self, size_bytes: int) -> int:
        # A copy that takes so long cannot be part of a step; all copies together stay in 64 bits.
        longest_ns = _NEVER // (len(self._problem.instance) + 1)
        return min(longest_ns, self._problem.link.transfer_ns(size_bytes))


@dataclass(frozen=True, slots=True)
class _Cut:
    """Cut of the step at one moment of one stage."""

    cuts: OffloadCuts
    place: Place
    number: int
    moment: Moment

    def holds_all(self) -> bool:
        """Whether all stages below the cut fit on the device."""
        return int(self.cuts._saved[: self.number].sum()) <= self.place.available_bytes
