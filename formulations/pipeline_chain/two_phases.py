r"""Two-phase program: least time of a micro-batch on a device, beside others in flight.

A device has the stages :math:`s,\dots,t` of a chain, and :math:`K` micro-batches in flight. A
micro-batch has two phases on it. The *forward phase* ends when the output of stage :math:`t` has
been made, which is then sent and freed; the *backward phase* starts when its gradient
:math:`\delta^t` has come. Before either starts, the other :math:`K-1` micro-batches are between
their phases. With :math:`\kappa` the bytes that a micro-batch keeps between its phases, its input
apart, the peak is

.. math::

    \text{resident} + K a^{s-1} + (K-1) \kappa
    + \max(\text{peak of the forward phase}, \text{peak of the backward phase}).

A persistent forward phase divides :math:`s,\dots,t` into stages of which :math:`\bar a` is kept,
and segments :math:`i,\dots,j-1` of which only the input :math:`a^{i-1}` is kept; these run again in
the backward phase, as rotor's :math:`C(i,j-1,m)` has it (RR-9302, Theorem 1). With the *room*
:math:`R = M - \text{resident} - K a^{s-1}`, :math:`d = R - K \kappa`, which is constant along the
recursion, and :math:`m` the memory beside all that is kept below,

.. math::

    W_d(i,m) &= \infty \text{ if } m < \max(0,d), \qquad W_d(t+1,m) = 0 \text{ else} \\
    W_d(i,m) &= \min\Bigl( [m \ge m_{save}(i)]\; u_f^i + u_b^i + W_d(i+1, m - \bar a^i), \\
             &\phantom{=\min\Bigl(} \min_{i < j \le t+1} [m \ge m_{pass}(i,j-1)]
               \sum_{k=i}^{j-1} u_f^k + C(i,j-1,m) + W_d(j, m - [j \le t]\, a^{j-1}) \Bigr) \\
    m_{save}(i) &= \max(\bar a^i + \bar o_f^i,\; \delta^i + \bar a^i + [\delta^{i-1}] + o_b^i) \\
    m_{pass}(i,j-1) &= \max\bigl(a^i + o_f^i, \max_{i<k<j} (a^{k-1} + a^k + o_f^k)\bigr) \\
    \tau(s,t,K) &= \min_\kappa W_d(s, d + \kappa).

*Proof.* What is kept is given up from the top down: the backward phase undoes the pieces of the
forward phase in the opposite order, so that beside a piece there is what is kept below it, its own,
and nothing above. At the first forward of a piece, and while its part of the backward phase runs,
the device has :math:`R - (K-1) \kappa = d + \kappa` bytes less what is kept below, which is
:math:`m`. A stage that is saved needs :math:`m_{save}` of it, in one phase or in the other; a
segment needs :math:`m_{pass}` in the forward phase, and what :math:`C` needs, the gradient of its
output included, in the backward phase: the input of the piece above, :math:`a^{j-1}`, is freed at
the end of :math:`B^j`, before the segment runs again. At :math:`t+1` the memory left is
:math:`d + \kappa` less all that is kept, and :math:`m \ge d` says that no more is kept than
:math:`\kappa`. Conversely every persistent sequence keeps some :math:`\kappa`, and is such a
division. QED.

*Why rotor's* :math:`C(s,t,m)` *alone is wrong*, with :math:`m = M/K` or any other memory:

(a) it does not say what is kept when :math:`B^t` is about to start, which counts :math:`K` times
    where all else counts once: two micro-batches of 5 saved bytes with overheads of 6 fit in
    5 + (5 + 6), not in 2 (5 + 6);
(b) it ends the forward phase with :math:`F_{all}^t`, though a device may keep inputs only and do
    everything after the gradient has come: two of 9 saved bytes fit in 12 then;
(c) it counts :math:`\delta^t` in the forward phase, where it is not there yet.

``tests/pipeline_chain/test_device_times.py`` has these three, and counts how often it finds nothing
or something slower on random pipelines. Of what runs again within the backward phase :math:`C` says
the truth.

This is the program as it reads, on the sizes of memory that are reached, for short parts.
`jettison.solvers.pipeline_chain.device_times` has it on slots, for all devices and parts at once:
:math:`\kappa` is one more dimension, but through :math:`d` only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

from jettison.instances.remat_chain.chain import Chain


@dataclass(frozen=True)
class TwoPhases:
    """Two-phase program of the stages `first` to `last` of a chain, in exact bytes.

    Gradients are no larger than outputs; else sequences in another order may be faster.

    Attributes
    ----------
    chain, first, last
        The stages.
    """

    chain: Chain
    first: int
    last: int

    def least_ns(self, room_bytes: int, in_flight: int) -> int | None:
        r"""Return :math:`\tau`; exponential in the number of stages at worst.

        Parameters
        ----------
        room_bytes
            Memory of the device beside what is resident and the inputs in flight.
        in_flight
            Micro-batches in flight.

        Returns
        -------
        int or None
            None if nothing fits.
        """
        times = []
        for kept in sorted(self._sums_kept()):
            left = room_bytes - in_flight * kept
            times.append(self._rows(left)(self.first, left + kept))
        return min((time for time in times if time is not None), default=None)

    def _sums_kept(self) -> set[int]:
        """Return all sums that a forward phase can keep."""
        sums: dict[int, set[int]] = {self.first: {0}}
        for i in range(self.first, self.last + 1):
            for kept in sums[i]:
                saved = kept + self.chain.stage(i).saved_bytes
                sums.setdefault(i + 1, set()).add(saved)
                for j in range(i + 1, self.last + 2):
                    own = self.chain.activation_bytes(j - 1) if j <= self.last else 0
                    sums.setdefault(j, set()).add(kept + own)
        return sums[self.last + 1]

    def _rows(self, d: int) -> Callable[[int, int], int | None]:
        chain, last = self.chain, self.last

        @cache
        def rows(i: int, m: int) -> int | None:
            if m < max(0, d):
                return None
            if i > last:
                return 0
            stage = chain.stage(i)
            times: list[int | None] = []
            if m >= self._saving_bytes(i):
                times.append(
                    _sum(stage.forward_ns + stage.backward_ns, rows(i + 1, m - stage.saved_bytes))
                )
            for j in range(i + 1, last + 2):
                if m >= self._passing_bytes(i, j - 1):
                    kept = chain.activation_bytes(j - 1) if j <= last else 0
                    passing = sum(chain.stage(k).forward_ns for k in range(i, j))
                    times.append(_sum(passing, self._again(i, j - 1, m), rows(j, m - kept)))
            return min((time for time in times if time is not None), default=None)

        return rows

    @cached_property
    def _again(self) -> Callable[[int, int, int], int | None]:
        """Rotor's :math:`C(s,t,m)`."""
        chain = self.chain

        @cache
        def again(s: int, t: int, m: int) -> int | None:
            if m < 0:
                return None
            stage = chain.stage(s)
            own = stage.forward_ns + stage.backward_ns
            gradient = chain.stage(t).gradient_bytes
            forward = gradient + stage.saving_bytes
            saving = max(forward, self._backward_bytes(s))
            if s == t:
                return own if m >= saving else None
            times: list[int | None] = []
            if m >= saving:
                times.append(_sum(own, again(s + 1, t, m - stage.saved_bytes)))
            if m >= gradient + self._passing_bytes(s, t - 1):
                for q in range(s + 1, t + 1):
                    passing = sum(chain.stage(k).forward_ns for k in range(s, q))
                    upper = again(q, t, m - chain.activation_bytes(q - 1))
                    times.append(_sum(passing, upper, again(s, q - 1, m)))
            return min((time for time in times if time is not None), default=None)

        return again

    def _backward_bytes(self, i: int) -> int:
        stage = self.chain.stage(i)
        output = self.chain.backward_output_bytes(i)
        return stage.gradient_bytes + stage.saved_bytes + output + stage.backward_overhead_bytes

    def _saving_bytes(self, i: int) -> int:
        stage = self.chain.stage(i)
        return max(stage.saving_bytes, self._backward_bytes(i))

    def _passing_bytes(self, i: int, end: int) -> int:
        needs = []
        for k in range(i, end + 1):
            before = self.chain.activation_bytes(k - 1) if k > i else 0
            stage = self.chain.stage(k)
            needs.append(before + stage.passing_bytes)
        return max(needs)


def _sum(*times: int | None) -> int | None:
    known = [time for time in times if time is not None]
    return sum(known) if len(known) == len(times) else None
