r"""Derived rows of a model, with the records by which the checker derives them again.

The rules are those of `certificates.derived_rows`, written independently.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.certificates.integer_model import IntegerModel


@dataclass(frozen=True, slots=True)
class NewRow:
    """Inequality that earlier rows imply, and the record that derives it in a proof."""

    columns: tuple[int, ...]
    coefficients: tuple[int, ...]
    right: int
    record: str


@dataclass(frozen=True, slots=True)
class Rounding:
    """Combination of rows, divided and rounded: the record ``G`` of a proof.

    Attributes
    ----------
    divisor
        Positive.
    weights
        Pairs of a row's number and its weight, at least 0 on inequalities.
    """

    divisor: int
    weights: tuple[tuple[int, int], ...]

    def row(self, model: IntegerModel) -> NewRow:
        """Return the row; all rows that it combines are rows of the model."""
        total: dict[int, int] = {}
        right = 0
        for number, weight in self.weights:
            combined = model.rows[number]
            right += weight * combined.right
            for column, coefficient in zip(combined.columns, combined.coefficients, strict=True):
                total[column] = total.get(column, 0) + weight * coefficient
        rounded: dict[int, int] = {}
        for column, coefficient in total.items():
            lower, upper = model.lower[column], model.upper[column]
            if model.is_integer[column]:
                right -= coefficient * lower
                rounded[column] = -(-coefficient // self.divisor)
            else:
                right -= max(coefficient * lower, coefficient * upper)
        kept = {column: value for column, value in rounded.items() if value}
        right = -(-right // self.divisor)
        right += sum(value * model.lower[column] for column, value in kept.items())
        weights = " ".join(f"{number}:{weight}" for number, weight in self.weights)
        return NewRow(tuple(kept), tuple(kept.values()), right, f"G {self.divisor} {weights}")
