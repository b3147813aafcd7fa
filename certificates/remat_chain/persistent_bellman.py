r"""Dynamic program of persistent chain schedules, as lower bounds on recomputation.

The persistent schedules of a chain of stages :math:`1, \dots, N` follow a recurrence (RR-9302,
Theorem 1, as `solvers/remat_chain/rotor.py` has it, with the corrections named there). Let
:math:`h(s,t,m)` be the least time that they spend on stages :math:`s, \dots, t` beyond one forward
and one backward operation of each, where :math:`m` bytes hold everything but the input of
:math:`s`. With sizes :math:`a^\ell` of outputs, :math:`\bar a^\ell` of what is saved, overheads
:math:`o_f`, :math:`\bar o_f` where a forward saves, :math:`o_b`, and forward durations :math:`u_f`,

.. math::

    h(s,s,m) &= 0 \quad\text{if } m \ge m_{all}(s,s), \text{ else } \infty \\
    h(s,t,m) &= \min\Bigl( [m \ge m_{all}(s,t)]\;\; h(s+1,t,m-\bar a^s), \\
             &\phantom{=\min\Bigl(} [m \ge m_\emptyset(s,t)]\;\; \min_{s < s' \le t}
               \sum_{k=s}^{s'-1} u_f^k + h(s',t,m-a^{s'-1}) + h(s,s'-1,m) \Bigr) \\
    m_{all}(s,t) &= \max\bigl(e^t + \bar a^s + \bar o_f^s,\;
                    \delta^s + \bar a^s + [\delta^{s-1}] + o_b^s\bigr) \\
    m_\emptyset(s,t) &= e^t + \max\bigl(a^s + o_f^s,\;
                        \max_{s<j<t} (a^{j-1} + a^j + o_f^j)\bigr)

where :math:`\delta^t` are sizes of gradients, :math:`[\delta^{s-1}]` counts unless the instance
says that :math:`o_b` holds it, and :math:`e^t = \min(a^t, \delta^t)`
(`instances/remat_chain/smaller_gradients.py` has the reason). No schedule is faster than all
operations once and :math:`h(1,N,M-a^0)`.

A certificate lists step functions below :math:`h`:

``p s t m:h ...``
    With at most :math:`m` bytes, stages :math:`s` to :math:`t` cost at least :math:`h` more, for
    each pair; :math:`m` ascends, :math:`h` descends to 1 at least. With more than the last
    :math:`m`, and where a sub-chain is not listed, nothing is claimed but :math:`h \ge 0`.

A line is checked against the lines before it, whose bounds take the place of :math:`h` on the
right-hand side. That does not grow with :math:`m` then, so that a step holds if it holds at its
largest memory; by induction over the lines it is below the true :math:`h`. For a claim that there
is no schedule all durations count as 0: then every schedule costs 0, and a cost of 1 or more means
that there is none.

Version 1, no options; ``scale_bits`` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from .bellman import Beginning, Bellman


class PersistentBellman(Bellman):
    """Checker of step functions below the dynamic program of persistent schedules.

    Raises
    ------
    CertificateError
        If the instance, the resources or the formulation are not what the recurrence needs.
    """

    valid_for: ClassVar[str] = "persistent"
    tables: ClassVar[tuple[str, ...]] = ("p",)

    def beginnings(self, table: str, s: int, t: int, memory: int) -> Iterator[Beginning]:
        """Yield the ways to begin, those that repeat less first."""
        chain = self.chain
        if memory >= chain.saving_needs(s, t):
            rest = memory - chain.saved_bytes[s]
            yield Beginning("saving", s, 0, () if s == t else ((table, s + 1, t, rest),))
        if s == t or memory < chain.passing_needs(s, t):
            return
        again = 0
        for split in range(s + 1, t + 1):
            again += self.forward_ns[split - 1]
            rest = memory - chain.output_bytes[split - 1]
            parts = (table, split, t, rest), (table, s, split - 1, memory)
            yield Beginning("split at", split, again, parts)
