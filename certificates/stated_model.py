"""A model, and the schedules that a bound of it holds for."""

from __future__ import annotations

from dataclasses import dataclass

from .integer_model import IntegerModel


@dataclass(frozen=True, slots=True)
class StatedModel:
    """What a builder of a formulation returns.

    Attributes
    ----------
    model
        The integer program.
    valid_for
        The class of schedules each of which is a point of the model.
    """

    model: IntegerModel
    valid_for: str
