r"""Bound on the training of several models: a tree for each unit, and the least sum of units.

A schedule divides the models into units, pairs of sub-arrays or sub-arrays alone, and takes the
sum of their times. A unit takes at least the time of its operators; a record

    u V k A:K p,.. j,.. [A:K p,.. j,..]

claims V ns for the unit of the sub-arrays (A, K), in ascending order, with the milestones p and j
of their passes. The tree that follows, with k scale bits, proves it on the model of `unit_model`.
A unit does not run in less than its static memory and its largest peak. The claim is proved if
every division of the models into units that run takes as long as claimed; there is no schedule if
there is no such division.

Valid for all schedules. Options ``link_bytes`` p and ``link_ns`` q, from 1: no copy moves more than
p / q bytes per ns, which is checked for each unit. Version 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..certificate_file import Record, integer
from ..claim import Claim
from ..errors import CertificateError
from ..header_fields import integer_field, only_fields
from ..integer_model import IntegerModel
from ..proof_tree import ProofTree
from .given_models import GivenModels, GivenSubArray, Operator
from .pair_rounds import PairRound
from .rounds import Round
from .unit_model import MilestonesOf, UnitModel

_MOST_SCALE_BITS = 256

Unit = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class UnitCount:
    """Size of a checked proof."""

    units: int
    leaves: int

    def __str__(self) -> str:
        units = "1 unit" if self.units == 1 else f"{self.units} units"
        return f"{self.leaves} leaves of {units}"


def unit_model(
    given: GivenModels, arrays: Sequence[MilestonesOf], link: tuple[int, int]
) -> IntegerModel:
    """Build the integer program of a unit.

    Parameters
    ----------
    given
        The problem.
    arrays
        One or two sub-arrays, each with the milestones of its forward and of its backward pass.
    link
        Bytes and nanoseconds of a rate that no copy exceeds.
    """
    built = UnitModel(given, arrays, link)
    if len(built.arrays) == 2:
        first, second = built.arrays
        PairRound(built, 0, second, first).write()
        PairRound(built, 1, first, second).write()
    else:
        Round(built, 0, built.arrays[0], built.arrays[0]).write()
    return built.model


class TrainingUnits:
    """Checker of the bounds of units, and of the claim that follows from them.

    Parameters
    ----------
    claim
        The claim to prove.

    Raises
    ------
    CertificateError
        If the instance, the resources or the formulation are not what the bound needs.
    """

    def __init__(self, claim: Claim) -> None:
        only_fields(claim.formulation, {"name", "version", "link_bytes", "link_ns"}, "the options")
        if claim.scale_bits != 0:
            raise CertificateError("each unit has scale bits of its own: write 0")
        if claim.valid_for != "all schedules":
            raise CertificateError(
                f"the formulation holds for all schedules, not for {claim.valid_for[:60]}"
            )
        self._time_ns = claim.time_ns
        self._given = GivenModels.from_json(claim.instance, claim.resources)
        options = claim.formulation
        self._link = (
            integer_field(options, "link_bytes", least=1),
            integer_field(options, "link_ns", least=1),
        )
        arrays = sorted(self._given.sub_arrays)
        # What is known of each unit that runs; of the others nothing is asked.
        self._least_ns: dict[Unit, int] = {}
        for unit in [*((a,) for a in arrays), *itertools.combinations_with_replacement(arrays, 2)]:
            found = [self._given.sub_arrays[key] for key in unit]
            needed = sum(array.static_bytes for array in found)
            needed += max(array.largest_peak_bytes for array in found)
            if needed <= self._given.memory_bytes:
                self._least_ns[unit] = sum(array.compute_ns for array in found)

    def check(self, records: Iterable[Record]) -> UnitCount:
        """Check all records.

        Raises
        ------
        CertificateError
            At the first record that is wrong, or if the claim does not follow from all.
        """
        named: set[Unit] = set()
        leaves = 0
        for head, tree in _trees(records):
            try:
                unit, value_ns, scale_bits, model = self._read(head)
            except CertificateError as error:
                raise CertificateError(error.problem, head.line) from None
            if unit in named:
                raise CertificateError("a unit stands twice", head.line)
            named.add(unit)
            to_beat = model.to_beat(value_ns)
            leaves += ProofTree(model, scale_bits, to_beat).check(tree).leaves
            if unit in self._least_ns:
                self._least_ns[unit] = max(self._least_ns[unit], value_ns)
        proved_ns = self._division_ns()
        if proved_ns is not None and (self._time_ns is None or proved_ns < self._time_ns):
            raise CertificateError(f"a division into units may take {proved_ns} ns")
        return UnitCount(len(named), leaves)

    def _read(self, head: Record) -> tuple[Unit, int, int, IntegerModel]:
        """Return the unit of a record, the time that is claimed, the scale bits and the model."""
        if len(head.parts) not in {5, 8}:
            raise CertificateError("a unit has a time, scale bits and one or two sub-arrays")
        value_ns, scale_bits = integer(head.parts[0]), integer(head.parts[1])
        if value_ns < 0 or not 0 <= scale_bits <= _MOST_SCALE_BITS:
            raise CertificateError("no time, or too many scale bits")
        unit: list[tuple[int, int]] = []
        arrays: list[MilestonesOf] = []
        for place in range(2, len(head.parts), 3):
            key, forward, backward = head.parts[place : place + 3]
            first, mark, second = key.partition(":")
            pair = integer(first), integer(second)
            array = self._given.sub_arrays.get(pair)
            if not mark or array is None:
                raise CertificateError(f"there is no sub-array {key[:40]}")
            self._check_rate(array)
            unit.append(pair)
            arrays.append(
                (array, _milestones(forward, array.forward), _milestones(backward, array.backward))
            )
        if unit != sorted(unit):
            raise CertificateError("the sub-arrays of a unit do not ascend")
        model = unit_model(self._given, arrays, self._link)
        return tuple(unit), value_ns, scale_bits, model

    def _check_rate(self, array: GivenSubArray) -> None:
        link_bytes, link_ns = self._link
        for tensor in array.tensors:
            if tensor.copy_ns and tensor.size_bytes * link_ns > link_bytes * tensor.copy_ns:
                raise CertificateError("a copy moves more than link_bytes in link_ns")

    def _division_ns(self) -> int | None:
        """Return the least sum of a division of all models into units; None if there is none."""
        counts = self._given.counts
        units: list[tuple[tuple[int, ...], int]] = []
        for unit, least_ns in self._least_ns.items():
            taken = [0] * len(counts)
            for architecture, models in unit:
                taken[architecture] += models
            units.append((tuple(taken), least_ns))
        best: dict[tuple[int, ...], int] = {(0,) * len(counts): 0}
        # In lexicographic order what is left of a state comes before it.
        for state in itertools.product(*(range(count + 1) for count in counts)):
            sums = []
            for takes, least_ns in units:
                rest_ns = best.get(tuple(a - b for a, b in zip(state, takes, strict=True)))
                if rest_ns is not None:
                    sums.append(rest_ns + least_ns)
            if sums:
                best[state] = min(sums)
        return best.get(counts)


def _milestones(text: str, operators: tuple[Operator, ...]) -> tuple[int, ...]:
    """Return milestones: ascending, the first and the last operator among them."""
    places = tuple(integer(item) for item in text.split(","))
    ascending = all(a < b for a, b in itertools.pairwise(places))
    if not ascending or places[0] != 0 or places[-1] != len(operators) - 1:
        raise CertificateError("milestones ascend from the first operator to the last")
    return places


def _trees(records: Iterable[Record]) -> Iterator[tuple[Record, Iterator[Record]]]:
    """Yield each record of a unit with the records of its tree, which have to be read first."""
    waiting = iter(records)
    head = next(waiting, None)
    while head is not None:
        if head.letter != "u":
            raise CertificateError("a tree has no unit before it", head.line)
        following: list[Record] = []

        def tree(following: list[Record] = following) -> Iterator[Record]:
            for record in waiting:
                if record.letter == "u":
                    following.append(record)
                    return
                yield record

        yield head, tree()
        head = following[0] if following else None
