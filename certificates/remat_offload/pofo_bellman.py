"""doc"""

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

    def _check_part(self, i: int, j: int, memory: int, amount: int, cost: int) -> None:
        """Refuse a point of a part that some beginning undercuts."""
        chain = self._chain
        room = memory - chain.back[i]
        if room < 0:
            return
        cost -= max(amount - room, 0)
        amount = min(amount, room)
        own = chain.once[j] - chain.once[i - 1]
        passing = memory - chain.output[j]
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
        least, amount = 0, amount - wait
        for most, cost in listed[1][place]:
            if most > amount:
                cost -= most - amount
            if cost > least:
                least = cost
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
            self._compared += len(points[place])
            for leaving, coming, least in points[place]:
                if leaving > df:
                    least -= leaving - df
                if coming > db:
                    least -= coming - db
                if least >= cost:
                    return True
            if self._compared > _MOST_COMPARED:
                raise CertificateError("these are too many points to compare")
        return False


def _triple(text: str) -> StatePoint:
    parts = text.split(":")
    if len(parts) != 3:
        raise CertificateError(f"{text[:40]!r} is no point of a state")
    leaving, coming, cost = (integer(part) for part in parts)
    return leaving, coming, cost


def _best(points: list[PartPoint]) -> list[PartPoint]:
    """Return the points that no other one proves."""
    return [
        (amount, cost)
        for amount, cost in sorted(set(points))
        if not any(
            other != (amount, cost) and other[1] - max(other[0] - amount, 0) >= cost
            for other in points
        )
    ]
