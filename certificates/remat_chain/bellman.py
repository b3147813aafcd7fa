r"""Step functions below a dynamic program over sub-chains, checked line by line.

A formulation defines the costs (`persistent_bellman`, `drops_bellman`): tables of sub-chains
:math:`s, \dots, t`, and for each sub-chain the ways to begin it in some memory, each with the
forward operations that it repeats and the parts that are left. One of infinite cost has no way.

A record ``TABLE s t m:h ...`` says that with at most :math:`m` bytes the sub-chain costs at least
:math:`h`, for each pair; :math:`m` ascends, :math:`h` descends to 1 at least. With more than the
last :math:`m`, and where a sub-chain is not listed, nothing is claimed but a cost of 0 or more.

A record is checked against those before it, whose bounds take the place of the costs of the parts.
The result does not grow with the memory, so that a step holds if it holds at its largest memory.
By induction over the records all of them are below the true costs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

from ..certificate_file import Record, integer, pairs
from ..claim import Claim
from ..errors import CertificateError
from ..header_fields import integer_field, only_fields
from .persistent_chain import PersistentChain

# Limits on the steps that a file makes the checker hold, and on the beginnings it makes it try.
_MOST_LISTED = 3_000_000
_MOST_BEGINNINGS = 300_000_000

# Table, first and last stage, memory.
Part = tuple[str, int, int, int]


class Beginning(NamedTuple):
    """First decision of a sub-chain: its kind, its stage, what it repeats, and the parts left."""

    way: str
    stage: int
    again_ns: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """Size of a checked proof."""

    sub_chains: int
    steps: int

    def __str__(self) -> str:
        return f"{self.steps} steps of {self.sub_chains} sub-chains"


class Bellman(ABC):
    """Checker of step functions below a dynamic program; holds those checked so far.

    Parameters
    ----------
    claim
        The claim to prove.

    Attributes
    ----------
    valid_for
        The class of schedules that the recurrence is about.
    tables
        The names of its tables; the first one holds what all stages cost.
    chain
        The instance.
    forward_ns
        Durations of the forward operations by stage, as repetitions count them. For a claim that
        there is no schedule they are 0: then every schedule costs 0, and a cost of 1 or more means
        that there is none.

    Raises
    ------
    CertificateError
        If the instance, the resources or the formulation are not what the recurrence needs.
    """

    valid_for: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]

    def __init__(self, claim: Claim) -> None:
        only_fields(claim.resources, {"memory_bytes"}, "resources")
        only_fields(claim.formulation, {"name", "version"}, "the formulation")
        if claim.scale_bits != 0:
            raise CertificateError("a dynamic program has no scale bits: write 0")
        if claim.valid_for != self.valid_for:
            raise CertificateError(
                f"the formulation holds for {self.valid_for}, not for {claim.valid_for[:60]}"
            )
        self.chain = chain = PersistentChain(claim.instance)
        self._count = chain.count
        self._memory = integer_field(claim.resources, "memory_bytes") - chain.output_bytes[0]
        self.forward_ns = chain.forward_ns
        self._goal = 1
        if claim.time_ns is None:
            self.forward_ns = [0] * (chain.count + 1)
        else:
            self._goal = claim.time_ns - chain.base_ns
        # By table and sub-chain: ascending memories, and the least cost in at most each of them.
        self._listed: dict[tuple[str, int, int], tuple[list[int], list[int]]] = {}
        self._steps = self._beginnings = 0

    @abstractmethod
    def beginnings(self, table: str, s: int, t: int, memory: int) -> Iterator[Beginning]:
        """Yield the ways to begin that the memory allows, those that repeat less first.

        A part with less than no memory is infinite.
        """

    def check(self, records: Iterable[Record]) -> ProgramSize:
        """Check all records; each step costs time for every way to begin its sub-chain.

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
        proved = self._least((self.tables[0], 1, self._count, self._memory))
        if self._memory >= 0 and proved < self._goal:
            raise CertificateError(
                f"the steps prove a cost of {proved} beyond all operations once, and the claim "
                f"needs {self._goal}"
            )
        return ProgramSize(len(self._listed), self._steps)

    def _follow(self, record: Record) -> None:
        table = record.letter
        if table not in self.tables:
            raise CertificateError(f"unknown record {table[:20]!r}")
        if len(record.parts) < 3:
            raise CertificateError("a step function names a sub-chain and has at least one step")
        s, t = integer(record.parts[0]), integer(record.parts[1])
        if not 1 <= s <= t <= self._count or (table, s, t) in self._listed:
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
            self._check_step(table, s, t, memory, cost)
        self._listed[table, s, t] = memories, costs

    def _check_step(self, table: str, s: int, t: int, memory: int, cost: int) -> None:
        """Refuse a step that some beginning of the sub-chain undercuts."""
        for way, stage, again, parts in self.beginnings(table, s, t, memory):
            if again >= cost:
                return
            least = again
            for part in parts:
                least += cost if part[3] < 0 else self._least(part)
            if least < cost:
                raise CertificateError(
                    f"{table} {s} {t} in {memory} bytes, {way} {stage}, may cost {least}, "
                    f"not {cost}"
                )

    def _least(self, part: Part) -> int:
        """Return the checked lower bound on the cost of a sub-chain in some memory."""
        table, s, t, memory = part
        listed = self._listed.get((table, s, t))
        if listed is None:
            return 0
        memories, costs = listed
        place = bisect_left(memories, memory)
        return costs[place] if place < len(costs) else 0
