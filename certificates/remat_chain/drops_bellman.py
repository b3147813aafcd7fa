r"""Dynamic program of chain schedules that are persistent with drops, as lower bounds.

A schedule may drop the input :math:`a^{\ell-1}` of a stage while :math:`\bar a^\ell` is there, and
make it again before :math:`B^\ell`. `schedules/remat_chain/drop_rules.py` has the class of
schedules, and `solvers/remat_chain/drop_search.py` the recurrence and why no schedule of the class
is faster. It has four tables over sub-chains :math:`s, \dots, t` and bytes :math:`m`:

* :math:`C_p(s,t,m)`: the backwards of :math:`t, \dots, s`; the input :math:`a^{s-1}` is there
  throughout and not counted in :math:`m`;
* :math:`E_p(s,t,m)`: the backwards of :math:`t, \dots, s+1`; :math:`F_{all}^s` runs on the way and
  :math:`a^{s-1}`, which is counted, is dropped right after it.

With :math:`p = 1` what stage :math:`t` saves is in memory already, and counted; :math:`F^t` is not
run then. Costs are times beyond those that the sub-problem spends at least, which are one forward
of each stage (but of :math:`t` if :math:`p = 1`) and one backward of each (but of :math:`s` in
:math:`E`). In all three lines below, the times of the parts sum to that of the whole and what is
repeated. With sizes :math:`a^\ell` of outputs, :math:`\bar a^\ell` of what is saved, overheads
:math:`o_f`, :math:`\bar o_f` where a forward saves, :math:`o_b`, forward durations :math:`u_f` and
:math:`U(s,k) = \sum_{j=s}^{k} u_f^j`,

.. math::

    \beta(s) &= \bar a^s + \delta^s + [\delta^{s-1}] + o_b^s \qquad
        b_p(t) = \min(a^t, \delta^t) + p\,\bar a^t \\
    f_p(s,t) &= b_p(t) + \bar a^s + \bar o_f^s \\
    n_p(s,t) &= b_p(t) + \max\bigl(a^s + o_f^s,\; \max_{s<j<t} (a^{j-1} + a^j + o_f^j)\bigr) \\
    C_0(s,s,m) &= 0 \quad\text{if } m \ge \max(f_0(s,s), \beta(s)), \text{ else } \infty \\
    C_1(s,s,m) &= 0 \quad\text{if } m \ge \beta(s), \text{ else } \infty \\
    E_0(s,s,m) &= 0 \quad\text{if } m \ge f_0(s,s) + a^{s-1}, \text{ else } \infty
        \qquad E_1(s,s,m) = \infty \\
    C_p(s,t,m) &= \min\Bigl(
        [m \ge \max(f_p(s,t), \beta(s))]\;\; C_p(s+1,t,m-\bar a^s), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t)]\;\; \min_{s<k\le t}
        U(s,k-1) + C_p(k,t,m-a^{k-1}) + C_0(s,k-1,m), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t)]\;\; \min_{s<k\le t-p}
        U(s,k-1) + E_p(k,t,m) + C_1(s,k,m) \Bigr) \\
    E_p(s,t,m) &= \min\Bigl(
        [m \ge f_p(s,t) + a^{s-1}]\;\; C_p(s+1,t,m-\bar a^s), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t) + a^{s-1}]\;\; \min_{s<k\le t}
        U(s,k-1) + C_p(k,t,m-a^{s-1}-a^{k-1}) + E_0(s,k-1,m), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t) + a^{s-1}]\;\; \min_{s<k\le t-p}
        U(s,k-1) + E_p(k,t,m-a^{s-1}) + E_1(s,k,m) \Bigr)

where :math:`\delta^t` are sizes of gradients, the minimum is that of
`instances/remat_chain/smaller_gradients.py`, and :math:`[\delta^{s-1}]` counts unless the instance
says that :math:`o_b` holds it. No schedule is faster than all operations once and
:math:`C_0(1,N,M-a^0)`.

The records of a certificate are ``C0 s t m:h ...``, and the same with ``E0``, ``C1`` and ``E1``, as
`bellman` describes them. For a claim that there is no schedule all durations are taken for 0.

Version 1, no options; ``scale_bits`` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from .bellman import Beginning, Bellman


class DropsBellman(Bellman):
    """Checker of step functions below the dynamic program of schedules with drops.

    Raises
    ------
    CertificateError
        If the instance, the resources or the formulation are not what the recurrence needs.
    """

    valid_for: ClassVar[str] = "persistent with drops"
    tables: ClassVar[tuple[str, ...]] = ("C0", "E0", "C1", "E1")

    def beginnings(self, table: str, s: int, t: int, memory: int) -> Iterator[Beginning]:
        """Yield the ways to begin, those that repeat less first."""
        if table == "E1" and s == t:
            return
        chain = self.chain
        kind, p = table[0], int(table[1])
        # Memory left for a split or a drop: E counts the input of s, and C does not.
        free = memory - (chain.output_bytes[s - 1] if kind == "E" else 0)
        if memory >= self.saving_needs(table, s, t):
            rest = memory - chain.saved_bytes[s]
            yield Beginning("saving", s, 0, () if s == t else ((f"C{p}", s + 1, t, rest),))
        if s == t or free < chain.passing_needs(s, t) + p * chain.saved_bytes[t]:
            return
        again = 0
        for k in range(s + 1, t + 1):
            again += self.forward_ns[k - 1]
            after = (f"C{p}", k, t, free - chain.output_bytes[k - 1])
            yield Beginning("split at", k, again, (after, (f"{kind}0", s, k - 1, memory)))
            if k <= t - p:
                parts = (f"E{p}", k, t, free), (f"{kind}1", s, k, memory)
                yield Beginning("dropping at", k, again, parts)

    def saving_needs(self, table: str, s: int, t: int) -> int:
        """Return the least bytes to begin by saving; for a single stage the bytes of all of it."""
        chain = self.chain
        p = int(table[1])
        if s == t and p == 1:
            # With p = 1 the stage is saved already.
            return chain.backward_bytes[s]
        saving = chain.forward_bytes(s, t) + p * chain.saved_bytes[t]
        if table[0] == "E":
            return saving + chain.output_bytes[s - 1]
        return max(saving, chain.backward_bytes[s])
