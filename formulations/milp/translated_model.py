"""A model translated from a modelling library, and the sense that it had there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from jettison.formulations.milp.array_model import ArrayModel


class Sense(IntEnum):
    """Whether the original minimises or maximises; its value is the sign of the translation."""

    MINIMISE = 1
    MAXIMISE = -1


@dataclass(frozen=True, eq=False)
class TranslatedModel:
    """An array model, which minimises, and what it took to make it so.

    Attributes
    ----------
    model
        The model; where the original maximises, its objective and offset are negated.
    sense
        The sense of the original.
    """

    model: ArrayModel
    sense: Sense
