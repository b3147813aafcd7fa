r"""Products of two columns of a Pyomo model: as they are, or linearised.

The product :math:`p = x y` of a binary :math:`x` and a :math:`y` from 0 to 1 is exactly

.. math::
    p \le x, \quad p \le y, \quad p \ge x + y - 1, \quad p \ge 0.

A factor may be a number: what is fixed has no column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from jettison.formulations.sharding_columns import Term


class Products(Protocol):
    """How a model writes a product."""

    def start(self, concrete: Any) -> None:
        """Prepare a new model."""

    def times(self, factor: Any, terms: list[Term]) -> Any:
        """Return the product of a factor and a sum."""


@dataclass(frozen=True, slots=True)
class Bilinear:
    """Products of columns: a quadratic model, as the paper writes it."""

    def start(self, concrete: Any) -> None:
        """Need nothing."""

    def times(self, factor: Any, terms: list[Term]) -> Any:
        """Return the product itself."""
        return sum(amount * (factor * column) for column, amount in terms)


@dataclass(slots=True)
class Linearised:
    """A column ``product`` for each product, and the three rows above: a linear model."""

    _concrete: Any = None
    _known: dict[tuple[str, str], Any] = field(default_factory=dict)

    def start(self, concrete: Any) -> None:
        """Add an empty list of columns and one of rows to a new model."""
        import pyomo.environ as pyo

        self._concrete = concrete
        self._known = {}
        concrete.product = pyo.VarList(bounds=(0, 1))
        concrete.linear = pyo.ConstraintList()

    def times(self, factor: Any, terms: list[Term]) -> Any:
        """Return the sum of the products' columns."""
        if isinstance(factor, int):
            return factor * sum(amount * column for column, amount in terms)
        return sum(amount * self._product(factor, column) for column, amount in terms)

    def _product(self, x: Any, y: Any) -> Any:
        key = (x.name, y.name)
        if key not in self._known:
            p = self._known[key] = self._concrete.product.add()
            for row in (p <= x, p <= y, p >= x + y - 1):
                self._concrete.linear.add(row)
        return self._known[key]
