"""Model with the class of schedules for which its bound is valid."""

from __future__ import annotations

from dataclasses import dataclass

from .integer_model import IntegerModel


@dataclass(frozen=True, slots=True)
class StatedModel:
    """Model of a formulation, and the class of schedules for which its bound is valid.

    Attributes
    ----------
    model
        The integer program.
    valid_for
        The class of schedules each of which is a point of the model.
    """

    model: IntegerModel
    valid_for: str
