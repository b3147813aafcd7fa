r"""Lower bounds of a dynamic program: what recomputing costs each sub-chain in each memory.

The persistent schedules of a chain of stages :math:`1, \dots, N` follow a recurrence (RR-9302,
Theorem 1, as `solvers/rotor.py` has it, with the corrections named there). Let
:math:`h(s,t,m)` be the least time that they spend on stages :math:`s, \dots, t` beyond one forward
and one backward operation of each, where :math:`m` bytes hold everything but the input of
:math:`s`. With sizes :math:`a^\ell` of outputs, :math:`\bar a^\ell` of what is saved, overheads
:math:`o_f, o_b` and forward durations :math:`u_f`,

.. math::

    h(s,s,m) &= 0 \quad\text{if } m \ge m_{all}(s,s), \text{ else } \infty \\
    h(s,t,m) &= \min\Bigl( [m \ge m_{all}(s,t)]\;\; h(s+1,t,m-\bar a^s), \\
             &\phantom{=\min\Bigl(} [m \ge m_\emptyset(s,t)]\;\; \min_{s < s' \le t}
               \sum_{k=s}^{s'-1} u_f^k + h(s',t,m-a^{s'-1}) + h(s,s'-1,m) \Bigr) \\
    m_{all}(s,t) &= \max\bigl(a^t + \bar a^s + o_f^s,\; a^s + \bar a^s + [a^{s-1}] + o_b^s\bigr) \\
    m_\emptyset(s,t) &= a^t + \max\bigl(a^s + o_f^s,\;
                        \max_{s<j<t} (a^{j-1} + a^j + o_f^j)\bigr)

where :math:`[a^{s-1}]` counts unless the instance says that :math:`o_b` holds it. No schedule is
faster than all operations once and :math:`h(1,N,M-a^0)`.

A certificate lists step functions below :math:`h`:

``p s t m:h ...``
    With at most :math:`m` bytes, stages :math:`s` to :math:`t` cost at least :math:`h` more, for
    each pair; :math:`m` ascends, :math:`h` descends to 1 at least. With more than the last
    :math:`m`, and where a sub-chain is not listed, nothing is claimed but :math:`h \ge 0`.

A line is checked against the lines before it. What is listed is put for :math:`h` on the
right-hand side, which does not grow with :math:`m` then, so that each step holds if it holds at its
largest memory; by induction over the lines it is below the true :math:`h`. For a claim that there
is no schedule all durations are taken for 0: then every schedule costs 0, and a cost of 1 has none.

Version 1, no options; ``scale_bits`` is 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from .certificate_file import Record, integer, pairs
from .claim import Claim
from .errors import CertificateError
from .header_fields import integer_field, only_fields
from .models.given_chain import GivenChain

VALID_FOR = "persistent"
_MOST_STAGES = 2_000
# What a file may make the checker hold, and do.
_MOST_LISTED = 3_000_000
_MOST_BEGINNINGS = 300_000_000


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """How large a checked proof was."""

    sub_chains: int
    steps: int

    def __str__(self) -> str:
        return f"{self.steps} steps of {self.sub_chains} sub-chains"


class PersistentChain:
    """The numbers of a chain that the recurrence needs; stages are counted from 1.

    Raises
    ------
    CertificateError
        If the instance is no chain, or has too many stages.
    """

    def __init__(self, instance: Mapping[str, Any]) -> None:
        chain = GivenChain.from_json(instance)
        if len(chain) > _MOST_STAGES:
            raise CertificateError(f"{len(chain)} stages; steps of {_MOST_STAGES} are checked")
        self.count = len(chain)
        self.base_ns = chain.base_time_ns
        self.forward_ns = [0, *(stage.forward_ns for stage in chain.stages)]
        self.output_bytes = [chain.input_bytes, *(stage.output_bytes for stage in chain.stages)]
        self.saved_bytes = [0, *(stage.saved_bytes for stage in chain.stages)]
        self._forward_bytes = [0, *(stage.forward_overhead_bytes for stage in chain.stages)]
        self._backward_bytes = [0] + [
            stage.output_bytes
            + stage.saved_bytes
            + chain.gradient_bytes(number)
            + stage.backward_overhead_bytes
            for number, stage in enumerate(chain.stages, start=1)
        ]
        self._room_without = cache(self._widest_without)

    def saving_needs(self, s: int, t: int) -> int:
        r"""Return :math:`m_{all}(s,t)`."""
        saving = self.output_bytes[t] + self.saved_bytes[s] + self._forward_bytes[s]
        return max(saving, self._backward_bytes[s])

    def passing_needs(self, s: int, t: int) -> int:
        r"""Return :math:`m_\emptyset(s,t)`, for s < t."""
        return self.output_bytes[t] + self._room_without(s)[t - s - 1]

    def _widest_without(self, s: int) -> list[int]:
        r"""Return for t = s+1, ... the maximum in :math:`m_\emptyset(s,t)`."""
        widest = [self.output_bytes[s] + self._forward_bytes[s]]
        for j in range(s + 1, self.count):
            passing = self.output_bytes[j - 1] + self.output_bytes[j] + self._forward_bytes[j]
            widest.append(max(widest[-1], passing))
        return widest


class PersistentBellman:
    """The step functions that have been checked so far.

    Parameters
    ----------
    claim
        What is to be proved.

    Raises
    ------
    CertificateError
        If the instance, the resources or the formulation are not what the recurrence needs.
    """

    def __init__(self, claim: Claim) -> None:
        only_fields(claim.resources, {"memory_bytes"}, "resources")
        only_fields(claim.formulation, {"name", "version"}, "the formulation")
        if claim.scale_bits != 0:
            raise CertificateError("a dynamic program has no scale bits: write 0")
        if claim.valid_for != VALID_FOR:
            raise CertificateError(
                f"the formulation holds for {VALID_FOR}, not for {claim.valid_for[:60]}"
            )
        self._chain = PersistentChain(claim.instance)
        self._memory = integer_field(claim.resources, "memory_bytes") - self._chain.output_bytes[0]
        if claim.time_ns is None:
            self._goal = 1
            self._chain.forward_ns = [0] * (self._chain.count + 1)
        else:
            self._goal = claim.time_ns - self._chain.base_ns
        # By sub-chain: memories, and the least cost in at most so much.
        self._listed: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        self._steps = self._beginnings = 0

    def check(self, records: Iterable[Record]) -> ProgramSize:
        """Follow all records; each step costs the number of ways to begin its sub-chain.

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
        proved = self._least(1, self._chain.count, self._memory)
        if self._memory >= 0 and proved < self._goal:
            raise CertificateError(
                f"the steps prove a cost of {proved} beyond all operations once, and the claim "
                f"needs {self._goal}"
            )
        return ProgramSize(len(self._listed), self._steps)

    def _follow(self, record: Record) -> None:
        if record.letter != "p":
            raise CertificateError(f"unknown record {record.letter[:20]!r}")
        if len(record.parts) < 3:
            raise CertificateError("a step function names a sub-chain and has at least one step")
        s, t = integer(record.parts[0]), integer(record.parts[1])
        if not 1 <= s <= t <= self._chain.count or (s, t) in self._listed:
            raise CertificateError(f"{s}, {t} is no sub-chain, or was listed before")
        steps = pairs(record.parts[2:], record.line)
        memories, costs = [m for m, _ in steps], [h for _, h in steps]
        ascending = all(a < b for a, b in pairwise(memories))
        descending = all(a > b for a, b in pairwise(costs))
        if not ascending or not descending or memories[0] < 0 or costs[-1] < 1:
            raise CertificateError("memories ascend from 0 on, and costs descend to 1 at least")
        self._steps += len(steps)
        self._beginnings += len(steps) * (t - s + 1)
        if self._steps > _MOST_LISTED or self._beginnings > _MOST_BEGINNINGS:
            raise CertificateError("these are too many steps to check")
        for memory, cost in steps:
            self._check_step(s, t, memory, cost)
        self._listed[s, t] = memories, costs

    def _check_step(self, s: int, t: int, memory: int, cost: int) -> None:
        """Refuse a step that some beginning of the sub-chain undercuts."""
        chain = self._chain
        if memory >= chain.saving_needs(s, t):
            rest = memory - chain.saved_bytes[s]
            least = 0 if s == t else self._least(s + 1, t, rest)
            if least < cost:
                raise CertificateError(
                    f"saving stage {s} of {s} to {t} in {memory} bytes may cost {least}, not {cost}"
                )
        if s == t or memory < chain.passing_needs(s, t):
            return
        again = 0
        for split in range(s + 1, t + 1):
            again += chain.forward_ns[split - 1]
            if again >= cost:
                return
            rest = memory - chain.output_bytes[split - 1]
            if rest < 0:
                continue
            least = again + self._least(split, t, rest) + self._least(s, split - 1, memory)
            if least < cost:
                raise CertificateError(
                    f"{s} to {t} in {memory} bytes, split at {split}, may cost {least}, not {cost}"
                )

    def _least(self, s: int, t: int, memory: int) -> int:
        """Return what is known to be spent at least."""
        listed = self._listed.get((s, t))
        if listed is None:
            return 0
        memories, costs = listed
        place = bisect_left(memories, memory)
        return costs[place] if place < len(costs) else 0
