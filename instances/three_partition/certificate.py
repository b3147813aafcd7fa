r"""Proofs of the answer to a 3-PARTITION, checked in exact integers and without any solver.

With items :math:`x_1, \dots, x_{3m}` and target :math:`V` (see `three_partition`):

`PlantedTriples` proves yes
    The groups themselves.

`ResidueWeights` proves no
    A modulus :math:`q` and an integer :math:`w(r)` for every residue :math:`r` that occurs. If
    :math:`w(r) + w(s) + w(t) \ge 0` for all occurring residues with
    :math:`r + s + t \equiv V \pmod q`, then the weights of any partition into triples of sum
    :math:`V` add up to at least 0. If :math:`\sum_i w(x_i \bmod q) < 0`, there is none. An argument
    by parity is the case :math:`q = 2`.

`TripleWeights` proves no
    The same with an integer :math:`y_v` for every value :math:`v`, and the triples of values that
    the items can form. It is a Farkas vector of the triple relaxation: that a non-negative
    combination of triples covers every item once. Such a vector exists exactly where the
    relaxation is infeasible, and weights by residues are a special case.

`SplitModuli` proves no, and that the triple relaxation is feasible
    Two moduli :math:`p, q`, for :math:`V` a multiple of 3. Let :math:`z_i = x_i - V/3`, and suppose
    that each :math:`z_i` is a multiple of exactly one of the two. The :math:`z` of a triple of sum
    :math:`V` add up to 0. Two of them are multiples of the same modulus, hence so is the third: no
    triple mixes the two classes. A partition would partition each class into triples; if the size
    of one is not a multiple of 3, there is none. No Farkas vector exists, since the certificate
    also holds a fractional cover: triples with integer weights by which every item is covered
    equally often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from jettison.instances.core.errors import InputError
from jettison.instances.three_partition.value_triples import ValueTriple, value_triples


class Answer(StrEnum):
    """Whether the items can be partitioned."""

    YES = "yes"
    NO = "no"


@dataclass(frozen=True)
class PlantedTriples:
    """Certificate of yes: the groups of a partition.

    Attributes
    ----------
    triples
        Positions of the three items of each group.
    """

    kind: ClassVar[str] = "planted-triples"
    answer: ClassVar[Answer] = Answer.YES

    triples: tuple[tuple[int, int, int], ...]

    def check(self, values: Sequence[int], target: int) -> str:
        """Check that the triples are a partition into groups of sum V, in linear time."""
        check_partition(self.triples, values, target)
        return f"a 3-partition into {len(self.triples)} triples of sum {target}"

    def to_json(self) -> dict[str, object]:
        """Return the certificate as a JSON object."""
        return {"kind": self.kind, "triples": [list(triple) for triple in self.triples]}


@dataclass(frozen=True)
class ResidueWeights:
    """Certificate of no: weights of residues that no partition can have.

    Attributes
    ----------
    modulus
        The modulus q.
    weights
        Each residue that occurs, with its weight.
    """

    kind: ClassVar[str] = "residue-weights"
    answer: ClassVar[Answer] = Answer.NO

    modulus: int
    weights: tuple[tuple[int, int], ...]

    def check(self, values: Sequence[int], target: int) -> str:
        """Check the argument, in quadratic time."""
        if self.modulus < 2:
            raise InputError(f"{self.modulus}", field="modulus", expected="write at least 2")
        count = Counter(value % self.modulus for value in values)
        weight_of = _weights_of(self.weights, count, "residue")
        occurring = sorted(count)
        for position, first in enumerate(occurring):
            for second in occurring[position:]:
                third = (target - first - second) % self.modulus
                if third in count:
                    _check_triple((first, second, third), weight_of)
        total = _check_total(count, weight_of)
        return (
            f"no 3-partition: by residues mod {self.modulus} every triple weighs at least 0, "
            f"all items together {total}"
        )

    def to_json(self) -> dict[str, object]:
        """Return the certificate as a JSON object."""
        return {
            "kind": self.kind,
            "modulus": self.modulus,
            "weights": [list(pair) for pair in self.weights],
        }


@dataclass(frozen=True)
class TripleWeights:
    """Certificate of no: weights of values, a Farkas vector of the triple relaxation.

    Attributes
    ----------
    weights
        Each distinct value with its weight.
    """

    kind: ClassVar[str] = "triple-weights"
    answer: ClassVar[Answer] = Answer.NO

    weights: tuple[tuple[int, int], ...]

    def check(self, values: Sequence[int], target: int) -> str:
        """Check the argument on every triple of values, in quadratic time."""
        count = Counter(values)
        weight_of = _weights_of(self.weights, count, "value")
        triples = value_triples(values, target)
        for triple in triples:
            _check_triple(triple, weight_of)
        total = _check_total(count, weight_of)
        return (
            f"no 3-partition: each of the {len(triples)} triples of values weighs at least 0, "
            f"all items together {total}"
        )

    def to_json(self) -> dict[str, object]:
        """Return the certificate as a JSON object."""
        return {"kind": self.kind, "weights": [list(pair) for pair in self.weights]}


@dataclass(frozen=True)
class SplitModuli:
    """Certificate of no: two classes of items that no triple mixes; the relaxation is feasible.

    Attributes
    ----------
    moduli
        The two moduli p and q.
    times
        How often the fractional cover covers each item.
    cover
        Triples of values, each with its integer weight.
    """

    kind: ClassVar[str] = "split-moduli"
    answer: ClassVar[Answer] = Answer.NO

    moduli: tuple[int, int]
    times: int
    cover: tuple[tuple[ValueTriple, int], ...]

    def check(self, values: Sequence[int], target: int) -> str:
        """Check both claims, in linear time."""
        if target % 3:
            raise InputError(
                f"V = {target} is not a multiple of 3",
                field="moduli",
                expected="the argument is about x - V/3",
            )
        for position, modulus in enumerate(self.moduli):
            if modulus < 2:
                raise InputError(
                    f"{modulus}", field=f"moduli[{position}]", expected="write at least 2"
                )
        first, second = self.moduli
        sizes = [0, 0]
        for position, value in enumerate(values):
            offset = value - target // 3
            if (offset % first == 0) == (offset % second == 0):
                raise InputError(
                    f"values[{position}] - V/3 = {offset} is a multiple of both or of none",
                    field="moduli",
                    expected="every item must belong to one class",
                )
            sizes[0 if offset % first == 0 else 1] += 1
        if sizes[0] % 3 == 0:
            raise InputError(
                f"the classes have {sizes[0]} and {sizes[1]} items",
                field="moduli",
                expected="sizes that are multiples of 3 prove nothing",
            )
        self._check_cover(values, target)
        return (
            f"no 3-partition: no triple mixes the {sizes[0]} items with x - V/3 divisible by "
            f"{first} and the {sizes[1]} with it divisible by {second}, and {sizes[0]} is not a "
            "multiple of 3; the triple relaxation is feasible"
        )

    def _check_cover(self, values: Sequence[int], target: int) -> None:
        if self.times < 1:
            raise InputError(f"{self.times}", field="times", expected="write at least 1")
        count = Counter(values)
        covered: Counter[int] = Counter()
        for position, (triple, weight) in enumerate(self.cover):
            possible = all(triple.count(value) <= count[value] for value in triple)
            if sum(triple) != target or weight < 1 or not possible:
                raise InputError(
                    f"{list(triple)} with weight {weight}",
                    field=f"cover[{position}]",
                    expected="write three items of sum V and a positive weight",
                )
            for value in triple:
                covered[value] += weight
        for value, number in count.items():
            if covered[value] != self.times * number:
                raise InputError(
                    f"the {number} items of size {value} are covered {covered[value]} times",
                    field="cover",
                    expected=f"cover each item {self.times} times",
                )

    def to_json(self) -> dict[str, object]:
        """Return the certificate as a JSON object."""
        return {
            "kind": self.kind,
            "moduli": list(self.moduli),
            "times": self.times,
            "cover": [[*triple, weight] for triple, weight in self.cover],
        }


Certificate = PlantedTriples | ResidueWeights | TripleWeights | SplitModuli


def certificate_from_json(document: Mapping[str, Any]) -> Certificate:
    """Build a certificate from parsed JSON that has passed the schema.

    Raises
    ------
    InputError
        If a number is written as a fraction: ``2.0`` would bring rounding into the proof.
    """
    for key, entry in document.items():
        if key != "kind":
            _check_integers(entry, f"certificate.{key}")
    match document["kind"]:
        case PlantedTriples.kind:
            return PlantedTriples(tuple(tuple(triple) for triple in document["triples"]))
        case ResidueWeights.kind:
            return ResidueWeights(document["modulus"], _pairs(document["weights"]))
        case TripleWeights.kind:
            return TripleWeights(_pairs(document["weights"]))
        case _:
            first, second = document["moduli"]
            cover = tuple(((a, b, c), weight) for a, b, c, weight in document["cover"])
            return SplitModuli((first, second), document["times"], cover)


def check_partition(triples: Sequence[Sequence[int]], values: Sequence[int], target: int) -> None:
    """Check that positions in threes are a partition of all items into groups of sum V.

    Raises
    ------
    InputError
        If a group has not three items or another sum, or an item is in no group or in two.
    """
    for position, triple in enumerate(triples):
        field = f"triples[{position}]"
        if len(triple) != 3 or not all(0 <= item < len(values) for item in triple):
            raise InputError(
                f"{list(triple)}", field=field, expected=f"write three of {len(values)} items"
            )
        if sum(values[item] for item in triple) != target:
            raise InputError(
                f"items {list(triple)} sum to {sum(values[item] for item in triple)}",
                field=field,
                expected=f"every group sums to {target}",
            )
    times = Counter(item for triple in triples for item in triple)
    for item in range(len(values)):
        if times[item] != 1:
            raise InputError(
                f"item {item} is in {times[item]} groups",
                field="triples",
                expected="put every item into one group",
            )


def _check_integers(entry: object, field: str) -> None:
    if isinstance(entry, list):
        for position, part in enumerate(entry):
            _check_integers(part, f"{field}[{position}]")
    elif not isinstance(entry, int):
        raise InputError(
            f"{entry!r} is not an integer", field=field, expected="write it without a point"
        )


def _pairs(entries: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((key, weight) for key, weight in entries)


def _weights_of(
    pairs: Sequence[tuple[int, int]], count: Mapping[int, int], name: str
) -> dict[int, int]:
    weight_of = dict(pairs)
    if weight_of.keys() != count.keys() or len(pairs) != len(weight_of):
        raise InputError(
            f"weights of {len(pairs)} entries where {len(count)} occur",
            field="weights",
            expected=f"weigh each {name} that occurs once, and no other",
        )
    return weight_of


def _check_triple(triple: ValueTriple, weight_of: Mapping[int, int]) -> None:
    weight = sum(weight_of[part] for part in triple)
    if weight < 0:
        raise InputError(
            f"the triple {list(triple)} weighs {weight}",
            field="weights",
            expected="every triple must weigh at least 0",
        )


def _check_total(count: Mapping[int, int], weight_of: Mapping[int, int]) -> int:
    total = sum(number * weight_of[part] for part, number in count.items())
    if total >= 0:
        raise InputError(
            f"all items together weigh {total}",
            field="weights",
            expected="a proof needs a total below 0",
        )
    return total
