r"""Products of two columns of a Pyomo model: as they are, or linearised.

The product :math:`p = x y` of a binary :math:`x` and a :math:`y` from 0 to 1 is exactly

.. math::
    p \le x, \quad p \le y, \quad p \ge x + y - 1, \quad p \ge 0.

A factor may be a number: what is fixed has no column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from jettison.formulations.remat_sharding.kiwi.columns import Term


class ProductWriter(Protocol):
    """Writer of products into one model."""

    def times(self, factor: Any, terms: list[Term]) -> Any:
        """Return the product of a factor and a sum."""


class Products(Protocol):
    """Way of writing products in a model."""

    def on(self, concrete: Any) -> ProductWriter:
        """Return the writer for this new Pyomo model."""


@dataclass(frozen=True, slots=True)
class Bilinear:
    """Products as they are: a quadratic model, as the paper writes it."""

    def on(self, concrete: Any) -> ProductWriter:
        """Return itself, without a change of the model."""
        return self

    def times(self, factor: Any, terms: list[Term]) -> Any:
        """Return the product itself."""
        return sum(amount * (factor * column) for column, amount in terms)


@dataclass(frozen=True, slots=True)
class Linearised:
    """Products linearised: a column ``product`` and the three rows above for each."""

    def on(self, concrete: Any) -> ProductWriter:
        """Add an empty list of columns and one of rows to the model."""
        return _LinearisedProducts(concrete)


class _LinearisedProducts:
    """Columns and rows of products in one model; equal products share a column."""

    def __init__(self, concrete: Any) -> None:
        import pyomo.environ as pyo

        self._columns = concrete.product = pyo.VarList(bounds=(0, 1))
        self._rows = concrete.linear = pyo.ConstraintList()
        self._known: dict[tuple[str, str], Any] = {}

    def times(self, factor: Any, terms: list[Term]) -> Any:
        """Return the sum of the products' columns."""
        if isinstance(factor, int):
            return factor * sum(amount * column for column, amount in terms)
        return sum(amount * self._product(factor, column) for column, amount in terms)

    def _product(self, x: Any, y: Any) -> Any:
        key = (x.name, y.name)
        if key not in self._known:
            p = self._known[key] = self._columns.add()
            for row in (p <= x, p <= y, p >= x + y - 1):
                self._rows.add(row)
        return self._known[key]
