r"""Dynamic program of POFO, as least costs of its states, checked one by one.

The recurrences are those of Appendix B as `solvers/remat_offload/pofo/program.py` has them, with
the corrections named there, in units of which the link moves one in a tick (`linked_chain`). All
costs are ticks beyond all operations of the stages that are left, once each. Let
:math:`x^+ = \max(x, 0)`, :math:`P(i,k) = \sum_{l=i}^{k} u_f^l`,
:math:`U(i,j) = \sum_{l=i}^{j} (u_f^l + u_b^l)`, and

.. math::

    n_i(k) &= [k > i]\, a^{k-1} + a^k + o_f^k, \qquad
    M_B(i) = \bar a^i + \delta^i + [\delta^{i-1}] + o_b^i, \qquad S(i) = \bar a^i + \bar o_f^i \\
    w(i,k) &= \max_{i \le l \le k} n_i(l), \quad
    w_F(i,k) = \max_{i \le l \le k} n_i(l) - P(i,l-1), \quad
    w_B(i,k) = \max_{i \le l \le k} n_i(l) - P(l+1,k)

*Parts.* :math:`c(i,j,m,D)` is the cost of :math:`F^i..F^j, B^j..B^i` where m units hold everything
but the input of i, and D units of what lies below arrive until the end. It is infinite where
:math:`h = m - M_B(i) < 0`, else :math:`(D - h)^+` and, with :math:`D \le h` from here on, the
least of

.. math::

    \text{saving, } h_A = m - e^j - S(i) \ge 0:\quad
      & \max\bigl(c(i{+}1, j, m - \bar a^i, D_1),\; D_1 - h_A - U(i{+}1,j)\bigr),
      \quad D_1 = (D - u_b^i)^+ \\
    \text{split at } k < j,\; w(i,k) \le m - e^j:\quad
      & P(i,k) + \max\bigl(c_1 + c(k{+}1, j, m - a^k, D_2),\;
        D - (m - e^j - w_B(i,k)) - U(i,j)\bigr), \\
      & c_1 = c(i,k,m,D), \quad D_2 = (D - U(i,k) - c_1)^+

where the cost of no stage is 0.

*States.* :math:`o(i,x,A,F,B)` is the cost of stages i to N, where A units are kept beside the input
of i, which is :math:`I = \bar a^{i-1}` if x = 1 and else :math:`a^{i-1}`; F units have still to
leave, and B have to be back at the end. With :math:`v = M - A - I`, :math:`h_F = v - n_i(i)` and
:math:`h_B = v - M_B(i)` it is infinite where one of these is negative, else
:math:`(F - h_F)^+ + (B - h_B)^+` and, with :math:`F \le h_F, B \le h_B` from here on, the least of

.. math::

    \text{saving, } r = v - S(i) \ge 0:\quad
      & (F - r)^+ + \min_{keep,\,offload} o(i{+}1, 1, \dots), \quad t_F = u_f^i,\; t_B = u_b^i \\
    \text{up to } j < N,\; w(i,j) \le v,\; r = v - w_F(i,j):\quad
      & P(i,j) + (F - r)^+ + c + \min_{keep,\,offload} o(j{+}1, 0, \dots), \\
      & c = c(i,j,v,B), \quad t_F = P(i,j),\; t_B = U(i,j) + c

With :math:`F' = \min(F, r) - t_F` and :math:`B' = (B - t_B)^+`, to keep the input leads to
:math:`(A + I, (F')^+, B')`, and to offload it to :math:`(A, (F' + I)^+, B' + I)`; saving the last
stage ends with :math:`(F')^+ + B'`. No schedule of the class takes less than
:math:`U(1,N) + o(1,0,0,0,0)`.

Both are the paper's C and OC in closed form. What exceeds the room beside the first operation waits
whatever is chosen, and is taken out in front: D and B wait for :math:`B^i`, which ends the part;
F waits for :math:`F^i`, which needs :math:`n_i(i)` at least, since :math:`\bar a \ge a`.

A certificate lists points below c and o, all amounts in units and costs in ticks:

``c i j m D:h ...``
    With at most m units, and D to arrive, the part costs at least h, for each pair. The m of the
    records of i, j descend.
``o i x A F:B:h ...``
    With at least A units kept, F to leave and B to be back, the state costs at least h, for each
    triple. The A of the records of i, x ascend.

What a point says of other places: c and o are nondecreasing in D, F, B and A, and c is
nonincreasing in m; and both grow by at most 1 per unit of D, of F and of B. So with
:math:`m \le m_r` and :math:`A \ge A_r`

.. math::

    c(i,j,m,D) \ge h_r - (D_r - D)^+, \qquad
    o(i,x,A,F,B) \ge h_r - (F_r - F)^+ - (B_r - B)^+ .

*Proof.* By induction over the stages that are left. In D, F and B: each rule either adds what a
unit more costs, or passes the unit on, never both; and :math:`x + c(\cdot, (D - x)^+)` is
nondecreasing in x by the same induction: a cost of a part that grows by e takes at most as much
from what follows. In m and A: there are fewer choices, and where a room shrinks by y, what waits
grows by as much as what is passed on shrinks, or stays.

A point is checked against the records before it: by the rules above, with what these prove in the
place of c and o, or 0 where they prove nothing. The rules are monotone in these: a c that is too
small by e makes :math:`D_2` or :math:`B'` too large by at most e, which raises what follows by at
most e. So, by induction over the records, each point is below the truth.

The link of the formulation moves ``link_bytes`` in ``link_ns``, at least what is given: a faster
link only adds schedules, and its numbers may have fewer digits. For a claim that there is no
schedule all durations, and the amounts that are moved, are taken for 0: then every schedule costs
0, and a cost of 1 means that there is none. A link that both directions share has no schedules
that are faster.

Version 1, options ``link_bytes`` and ``link_ns``; ``scale_bits`` is 0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from ..certificate_file import Record, integer, pairs
from ..claim import Claim
from ..errors import CertificateError
from .linked_chain import LinkedChain

# Limits on what a file makes the checker hold, try and compare.
_MOST_LISTED = 3_000_000
_MOST_BEGINNINGS = 300_000_000
_MOST_COMPARED = 2_000_000_000
# Above every cost that a file can state.
_INFINITE = 10**401

# A point of a part: what has to arrive, and the cost. Of a state: DF, DB and the cost.
PartPoint = tuple[int, int]
StatePoint = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PointCount:
    """Size of a checked proof."""

    parts: int
    states: int

    def __str__(self) -> str:
        return f"{self.states} states, {self.parts} points of parts"


class PofoBellman:
    """Checker of least costs of the states of POFO's program; holds those checked so far.

    Parameters
    ----------
    claim
        The claim to prove.

    Raises
    ------
    CertificateError
        If the instance, the resources or the formulation are not what the program needs.
    """

    def __init__(self, claim: Claim) -> None:
        if claim.scale_bits != 0:
            raise CertificateError("a dynamic program has no scale bits: write 0")
        if claim.valid_for != "pofo":
            raise CertificateError(
                f"the formulation holds for pofo, not for {claim.valid_for[:60]}"
            )
        self._chain = LinkedChain(claim)
        # By sub-chain: descending memories, negated, and the points that hold with so much.
        self._parts: dict[tuple[int, int], tuple[list[int], list[list[PartPoint]]]] = {}
        # By stage and input: ascending A, and the points of each.
        self._states: dict[tuple[int, int], tuple[list[int], list[list[StatePoint]]]] = {}
        self._counts = {"c": 0, "o": 0}
        self._beginnings = self._compared = 0

    def check(self, records: Iterable[Record]) -> PointCount:
        """Check all records; each point costs time for every way to begin.

        Raises
        ------
        CertificateError
            At the first record that is wrong, or if the claim does not follow from all.
        """
        for record in records:
            try:
                self._follow(record)
            except CertificateError as error:
                raise CertificateError(error.problem, record.line) from None
        if not self._costs(1, 0, 0, 0, 0, self._chain.goal):
            raise CertificateError(
                f"the states do not prove the {self._chain.goal} ticks beyond all operations once "
                "that the claim needs"
            )
        return PointCount(self._counts["c"], self._counts["o"])

    def _follow(self, record: Record) -> None:
        if record.letter not in self._counts:
            raise CertificateError(f"unknown record {record.letter[:20]!r}")
        if len(record.parts) < 4:
            raise CertificateError("a record names its place and has at least one point")
        first, second, third = (integer(text) for text in record.parts[:3])
        points = record.parts[3:]
        if not 1 <= first <= self._chain.count or third < 0:
            raise CertificateError(f"there is no stage {first}, or less than no memory")
        self._counts[record.letter] += len(points)
        self._beginnings += len(points) * (self._chain.count - first + 1)
        if sum(self._counts.values()) > _MOST_LISTED or self._beginnings > _MOST_BEGINNINGS:
            raise CertificateError("these are too many points to check")
        if record.letter == "c":
            self._follow_part(first, second, third, pairs(points, record.line))
        else:
            self._follow_state(first, second, third, [_triple(point) for point in points])

    # The backward phase.

    def _follow_part(self, i: int, j: int, memory: int, points: list[PartPoint]) -> None:
        memories, listed = self._parts.setdefault((i, j), ([], []))
        if not i <= j <= self._chain.count or (memories and -memories[-1] <= memory):
            raise CertificateError(f"{i}, {j} is no sub-chain, or its memories do not descend")
        for amount, cost in points:
            if amount < 0 or cost < 1:
                raise CertificateError("an amount is negative, or a cost is less than 1")
            self._check_part(i, j, memory, amount, cost)
        # What holds with more memory holds with less.
        memories.append(-memory)
        listed.append(_best([*(listed[-1] if listed else []), *points]))
        self._compare(len(listed[-1]))

    def _check_part(self, i: int, j: int, memory: int, amount: int, cost: int) -> None:
        """Refuse a point of a part that some beginning undercuts."""
        chain = self._chain
        room = memory - chain.back[i]
        if room < 0:
            return
        cost -= max(amount - room, 0)
        amount = min(amount, room)
        own = chain.once[j] - chain.once[i - 1]
        passing = memory - chain.waiting[j]
        idle = passing - chain.saving[i]
        if idle >= 0:
            left = max(amount - chain.backward[i], 0)
            inner = 0 if i == j else self._part(i + 1, j, memory - chain.saved[i], left)
            if inner is not None:
                least = max(inner, left - idle - (chain.once[j] - chain.once[i]))
                if least < cost:
                    raise CertificateError(f"c {i} {j} in {memory}, saving, may cost {least}")
        for k, (ticks, most, _, late) in enumerate(chain.runs(i)[: j - i], start=i):
            if ticks >= cost or most > passing:
                return
            lower = self._part(i, k, memory, amount)
            if lower is None:
                continue
            left = amount - (chain.once[k] - chain.once[i - 1]) - lower
            upper = self._part(k + 1, j, memory - chain.output[k], max(left, 0))
            if upper is None:
                continue
            least = ticks + max(lower + upper, amount - (passing - late) - own)
            if least < cost:
                raise CertificateError(f"c {i} {j} in {memory}, split at {k}, may cost {least}")

    def _part(self, i: int, j: int, memory: int, amount: int) -> int | None:
        """Return the checked cost of a part at least; None where it is infinite."""
        room = memory - self._chain.back[i]
        if room < 0:
            return None
        wait = max(amount - room, 0)
        listed = self._parts.get((i, j))
        if listed is None:
            return wait
        place = bisect_right(listed[0], -memory) - 1
        if place < 0:
            return wait
        points, amount = listed[1][place], amount - wait
        self._compare(len(points))
        # Amounts and costs ascend: of what is not more than the amount, the last point says most.
        last = bisect_right(points, (amount, _INFINITE))
        least = points[last - 1][1] if last else 0
        for most, cost in points[last:]:
            least = max(least, cost - (most - amount))
        return wait + least

    # The forward phase.

    def _follow_state(self, i: int, x: int, kept: int, points: list[StatePoint]) -> None:
        if x not in (0, 1) or (i == 1 and x == 1):
            raise CertificateError(f"the input of stage {i} is not of the kind {x}")
        places, listed = self._states.setdefault((i, x), ([], []))
        if places and places[-1] >= kept:
            raise CertificateError("what is kept does not ascend")
        for leaving, coming, cost in points:
            if leaving < 0 or coming < 0 or cost < 1:
                raise CertificateError("an amount is negative, or a cost is less than 1")
            self._check_state(i, x, kept, leaving, coming, cost)
        places.append(kept)
        listed.append(points)

    def _check_state(self, i: int, x: int, kept: int, df: int, db: int, cost: int) -> None:
        """Refuse a point of a state that some beginning undercuts."""
        chain = self._chain
        size, moved = chain.inputs(i, x)
        free = chain.memory - kept - size
        forward, backward = free - chain.first_needs(i), free - chain.back[i]
        if forward < 0 or backward < 0:
            return
        cost -= max(df - forward, 0) + max(db - backward, 0)
        df, db = min(df, forward), min(db, backward)
        room = free - chain.saving[i]
        if room >= 0:
            rest = cost - max(df - room, 0)
            leaving = min(df, room) - chain.forward[i]
            coming = max(db - chain.backward[i], 0)
            if i == chain.count:
                holds = max(leaving, 0) + coming >= rest
            else:
                holds = self._costs(
                    i + 1, 1, kept + size, max(leaving, 0), coming, rest
                ) and self._costs(i + 1, 1, kept, max(leaving + moved, 0), coming + moved, rest)
            if not holds:
                raise CertificateError(f"o {i} {x} {kept}, saving, may cost less than {cost}")
        for j, (ticks, most, early, _) in enumerate(chain.runs(i)[: chain.count - i], start=i):
            if ticks >= cost or most > free:
                return
            part = self._part(i, j, free, db)
            if part is None:
                continue
            room = free - early
            rest = cost - ticks - max(df - room, 0) - part
            leaving = min(df, room) - ticks
            coming = max(db - (chain.once[j] - chain.once[i - 1]) - part, 0)
            if not (
                self._costs(j + 1, 0, kept + size, max(leaving, 0), coming, rest)
                and self._costs(j + 1, 0, kept, max(leaving + moved, 0), coming + moved, rest)
            ):
                raise CertificateError(f"o {i} {x} {kept}, up to {j}, may cost less than {cost}")

    def _costs(self, i: int, x: int, kept: int, df: int, db: int, cost: int) -> bool:
        """Tell whether the checked points prove that a state costs so much."""
        if cost <= 0:
            return True
        chain = self._chain
        free = chain.memory - kept - chain.inputs(i, x)[0]
        forward, backward = free - chain.first_needs(i), free - chain.back[i]
        if forward < 0 or backward < 0:
            return True
        if df > forward:
            cost -= df - forward
            df = forward
        if db > backward:
            cost -= db - backward
            db = backward
        if cost <= 0:
            return True
        listed = self._states.get((i, x))
        if listed is None:
            return False
        places, points = listed
        for place in range(bisect_right(places, kept) - 1, -1, -1):
            self._compare(len(points[place]))
            for leaving, coming, least in points[place]:
                # The cheap test first: most points prove too little as they are.
                if least >= cost and least >= cost + max(leaving - df, 0) + max(coming - db, 0):
                    return True
        return False

    def _compare(self, count: int) -> None:
        self._compared += count
        if self._compared > _MOST_COMPARED:
            raise CertificateError("these are too many points to compare")


def _triple(text: str) -> StatePoint:
    parts = text.split(":")
    if len(parts) != 3:
        raise CertificateError(f"{text[:40]!r} is no point of a state")
    leaving, coming, cost = (integer(part) for part in parts)
    return leaving, coming, cost


def _best(points: list[PartPoint]) -> list[PartPoint]:
    """Return the points that no other one proves, amounts and costs ascending."""
    kept: list[PartPoint] = []
    for amount, cost in sorted(points):
        if kept and kept[-1][1] >= cost:
            continue
        while kept and cost - (amount - kept[-1][0]) >= kept[-1][1]:
            kept.pop()
        kept.append((amount, cost))
    return kept
