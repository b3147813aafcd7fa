"""Multi-model instance: models of one architecture, or of several, for one device (µ-TWO)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import InstanceDocument, read_each, read_provenance
from jettison.instances.core.link import Link
from jettison.instances.core.provenance import Provenance
from jettison.instances.multi_model.architecture import (
    LARGEST_MODELS,
    Architecture,
    profile_fields,
)
from jettison.instances.multi_model.sub_array import SubArray
from jettison.instances.multi_model.sub_array_key import Key, parts_of

__all__ = ["LARGEST_MODELS", "MultiModel"]

# Divisions are searched over all numbers of models of each architecture.
_MOST_STATES = 10_000


@dataclass(frozen=True, repr=False)
class MultiModel(Architecture, InstanceDocument):
    """Models to train, with a profile for each number of them that may be fused.

    The fields of `Architecture` are those of the first architecture, in most instances the only
    one; only models of one architecture are fused.

    Attributes
    ----------
    bandwidth
        Bandwidth of each direction of the link to the host, in bytes per second.
    provenance
        Provenance of the numbers.
    others
        The other architectures.

    Raises
    ------
    InputError
        As for `Architecture`, or if there are too many models of several architectures.
    """

    # Not that of `Architecture`, which shows all of its operators.
    __repr__ = InstanceDocument.__repr__
    kind = "multi-model"

    bandwidth: int
    provenance: Provenance = field(default_factory=Provenance, compare=False)
    others: tuple[Architecture, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        Link(self.bandwidth)
        if math.prod(item.models + 1 for item in self.architectures) > _MOST_STATES:
            raise InputError(
                f"{' and '.join(str(item.models) for item in self.architectures)} models",
                field="others",
                expected=f"write numbers whose product, each plus 1, is at most {_MOST_STATES}",
            )

    def __len__(self) -> int:
        return sum(len(item.forward) + len(item.backward) for item in self.architectures)

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """All architectures, this one first."""
        return (self, *self.others)

    def sub_array(self, key: Key) -> SubArray:
        """Return a sub-array: several fused models, of the first architecture or of another one.

        Raises
        ------
        InputError
            If the instance has no profile of that size.
        """
        architecture, models = parts_of(key)
        if not 0 <= architecture <= len(self.others):
            raise InputError(
                f"{architecture}",
                field="architecture",
                expected=f"{self.name} has architectures 0 to {len(self.others)}",
            )
        return self.architectures[architecture].fused(models)

    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""
        return {
            **self.profile(),
            "bandwidth": self.bandwidth,
            **(
                {"others": [{"name": item.name, **item.profile()} for item in self.others]}
                if self.others
                else {}
            ),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> MultiModel:
        """Build the instance from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another.
        """
        others: tuple[Architecture, ...] = ()
        if "others" in document:
            others = read_each(document, "others", Architecture.of_entry)
        return cls(
            **profile_fields(document),
            bandwidth=document["bandwidth"],
            provenance=read_provenance(document),
            others=others,
        )
