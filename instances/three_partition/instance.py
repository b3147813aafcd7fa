r"""3-PARTITION: whether :math:`3m` items can be grouped in triples of equal sum.

Given are integers :math:`x_1, \dots, x_{3m}` and a target :math:`V` with

.. math::
    \sum_i x_i = m V, \qquad V/4 < x_i < V/2 .

The answer is yes if the items can be partitioned into :math:`m` groups of sum :math:`V`. The
interval makes every such group a triple: four items sum to more than :math:`V`, two to less. The
problem is NP-complete in the strong sense.

Correction of the paper
-----------------------
Theorem 1 of the weight offloading paper (Beaumont, Eyraud-Dubois, Shilova and Zhao) asks for
triples, but leaves the interval out. Its schedules know nothing of the size of a group: the items
1, 1, 1, 1, 1, 5 with :math:`V = 5` have no 3-partition, and yet the schedule of length :math:`2m`
exists, with the groups {1, 1, 1, 1, 1} and {5}. Items outside the interval are therefore refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.generated import Generated
from jettison.instances.core.instance_document import InstanceDocument, read_provenance
from jettison.instances.core.names import checked_name
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import checked_amount
from jettison.instances.three_partition.certificate import (
    Answer,
    Certificate,
    certificate_from_json,
)

LARGEST_GROUPS = 1000
Partition = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, repr=False)
class ThreePartition(InstanceDocument):
    r"""Instance of 3-PARTITION: items to be grouped in triples of equal sum.

    Attributes
    ----------
    name
        Name of the instance.
    values
        The sizes :math:`x_i` of the :math:`3m` items, in any order. Items are named by their
        position, counted from 0.
    target
        The sum :math:`V` of each group.
    certificate
        Certificate of the answer, if it is known.
    generated
        Record of the generator, if the instance was generated.
    provenance
        Provenance of the numbers.

    Raises
    ------
    InputError
        If the number of items is not a multiple of three, their sum is not :math:`mV`, or an item
        is not between :math:`V/4` and :math:`V/2`. The certificate is not checked here: see
        `proof`.
    """

    kind = "three-partition"

    name: str
    values: tuple[int, ...]
    target: int
    certificate: Certificate | None = field(default=None, compare=False)
    generated: Generated | None = field(default=None, compare=False)
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        object.__setattr__(self, "values", tuple(self.values))
        checked_amount(self.target, "target", "the unit of the values")
        for position, value in enumerate(self.values):
            checked_amount(value, f"values[{position}]", "the unit of the target")
        if not self.values or len(self.values) % 3 or len(self.values) > 3 * LARGEST_GROUPS:
            raise InputError(
                f"{len(self.values)} items",
                field="values",
                expected=f"write three items for each of 1 to {LARGEST_GROUPS} groups",
            )
        for position, value in enumerate(self.values):
            if not self.target < 4 * value < 2 * self.target:
                raise InputError(
                    f"{value} is not between V/4 and V/2 for V = {self.target}, so a group of sum "
                    "V need not have three items",
                    field=f"values[{position}]",
                    expected="adding one constant to every item, and three times that to V, keeps "
                    "all triples of sum V: write items above V/4 and below V/2",
                )
        if sum(self.values) != self.groups * self.target:
            raise InputError(
                f"the items sum to {sum(self.values)}",
                field="values",
                expected=f"{self.groups} groups of {self.target} sum to "
                f"{self.groups * self.target}",
            )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def groups(self) -> int:
        """The number of groups, m."""
        return len(self.values) // 3

    @property
    def answer(self) -> Answer | None:
        """Answer that the certificate states, checked or not; None without one."""
        return None if self.certificate is None else self.certificate.answer

    def proof(self) -> str:
        """Check the certificate and return a sentence on what it proves.

        Raises
        ------
        InputError
            If there is no certificate, or it does not prove its answer.
        """
        if self.certificate is None:
            raise InputError(
                "the instance has no certificate",
                field="certificate",
                expected="give an instance of known answer, as jettison generate writes it",
            )
        try:
            return self.certificate.check(self.values, self.target)
        except InputError as error:
            raise error.within(prefix="certificate") from None

    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""
        return {"target": self.target, "values": list(self.values)}

    def remarks(self) -> dict[str, object]:
        """Return the certificate and the record of the generator, which are not in the hash."""
        found: dict[str, object] = {}
        if self.certificate is not None:
            found["answer"] = str(self.certificate.answer)
            found["certificate"] = self.certificate.to_json()
        if self.generated is not None:
            found["generated"] = self.generated.to_json()
        return found

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ThreePartition:
        """Build the instance from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another, or the answer is not that of the certificate.
        """
        certificate = None
        if "certificate" in document:
            certificate = certificate_from_json(document["certificate"])
        answer = None if certificate is None else str(certificate.answer)
        if document.get("answer") != answer:
            raise InputError(
                f"{document.get('answer')!r}, where the certificate says {answer!r}",
                field="answer",
                expected="write the answer of the certificate, and none without one",
            )
        generated = document.get("generated")
        return cls(
            name=document["name"],
            values=tuple(document["values"]),
            target=document["target"],
            certificate=certificate,
            generated=None if generated is None else Generated(**generated),
            provenance=read_provenance(document),
        )
