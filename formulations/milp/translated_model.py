"""Model translated from a modelling library, with its original sense of optimisation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from jettison.formulations.milp.array_model import ArrayModel


class Sense(IntEnum):
    """Sense of optimisation; its value is the sign by which the objective was multiplied."""

    MINIMISE = 1
    MAXIMISE = -1


@dataclass(frozen=True, eq=False)
class TranslatedModel:
    """Translated model: an array model, which minimises, with the sense of the original.

    Attributes
    ----------
    model
        The model; where the original maximises, its objective and offset are negated.
    sense
        The sense of the original.
    """

    model: ArrayModel
    sense: Sense
