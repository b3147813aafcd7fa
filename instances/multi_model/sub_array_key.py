"""Key of a sub-array: how many models it fuses, and of which architecture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering


@total_ordering
@dataclass(frozen=True, slots=True)
class OfArchitecture:
    """Sub-array of another architecture than the first one of its instance.

    Such keys follow the plain numbers in order, and are ordered by architecture, then models.

    Attributes
    ----------
    architecture
        From 1: the place in `MultiModel.others`, counted from 1.
    models
        Models that are fused.
    """

    architecture: int
    models: int

    def __lt__(self, other: object) -> bool:
        if isinstance(other, int):
            return False
        if isinstance(other, OfArchitecture):
            return (self.architecture, self.models) < (other.architecture, other.models)
        return NotImplemented

    def __str__(self) -> str:
        return f"{self.architecture}:{self.models}"


Key = int | OfArchitecture
"""Key of a sub-array: a number of models of the first architecture, or of another one."""


def key_of(architecture: int, models: int) -> Key:
    """Return the key of a sub-array of an architecture, counted from 0."""
    return OfArchitecture(architecture, models) if architecture else models


def parts_of(key: Key) -> tuple[int, int]:
    """Return the architecture of a sub-array, counted from 0, and its models."""
    return (0, key) if isinstance(key, int) else (key.architecture, key.models)


def models_taken(keys: Iterable[Key], architectures: int) -> tuple[int, ...]:
    """Return how many models of each architecture sub-arrays have."""
    taken = [0] * architectures
    for key in keys:
        architecture, models = parts_of(key)
        if architecture < architectures:
            taken[architecture] += models
    return tuple(taken)
