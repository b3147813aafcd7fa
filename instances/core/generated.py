"""Record of how an instance was generated: enough to generate it again, to the byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jettison.instances.core.frozen_mapping import FrozenMapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """The family, the parameters and the seed of a generated instance.

    Attributes
    ----------
    family
        Name of the family.
    parameters
        Integers of the family, by name.
    seed, number
        Seed of the set, and the number of the instance in it, counted from 0.
    version
        Version of the generator: it changes when the same parameters give other numbers.
    """

    family: str
    parameters: Mapping[str, int]
    seed: int
    number: int
    version: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", FrozenMapping(self.parameters))

    def to_json(self) -> dict[str, object]:
        """Return the record as a JSON object."""
        return {
            "family": self.family,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "number": self.number,
            "version": self.version,
        }
