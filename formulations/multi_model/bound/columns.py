"""Columns, rows and scales of the bound on a training unit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale

# A linear expression: columns with their coefficients.
Terms = list[tuple[int, float]]


class BoundRows(StrEnum):
    """Families of rows that can be left out, to measure the effect of each."""

    LINK = "link"
    """(out), (in), (release), (due), (both), (total), (total release), (total due)."""

    MEMORY = "memory"
    """(memory f) and (memory b), for what is kept."""

    WINDOW = "window"
    """(memory f), (memory b) and (memory ends), with the time to move what is not kept."""

    BESIDE = "beside"
    """Columns and rows on the order of the passes of a pair: z, h, g, (order), (beside)."""


@dataclass(eq=False)
class BoundColumns:
    """Writer of columns and rows of the bound, with its scales.

    Attributes
    ----------
    rows
        Families to build.
    memory, time
        Scales of bytes and of nanoseconds.
    limit_bytes, static_bytes
        Memory, and what is resident in it.
    horizon
        An upper limit on every time.
    builder
        Takes columns and rows.
    """

    rows: Collection[BoundRows]
    memory: IntegerScale
    time: IntegerScale
    limit_bytes: int
    static_bytes: int
    horizon: float
    builder: ArrayModelBuilder = field(default_factory=lambda: ArrayModelBuilder("unit"))

    def room(self, used_bytes: int = 0) -> float:
        """Return the memory left beside static memory and these bytes, scaled and rounded up."""
        unit = self.memory.unit
        left = -(-self.limit_bytes // unit) - self.static_bytes // unit - used_bytes // unit
        return left / self.memory.factor

    def at_most(self, name: str, terms: Terms, limit: float) -> None:
        """Add a row: the terms add up to `limit` at most."""
        columns = [column for column, _ in terms]
        self.builder.add_row(name, columns, [factor for _, factor in terms], upper=limit)

    def at_least(self, name: str, terms: Terms, limit: float) -> None:
        """Add a row: the terms add up to `limit` at least."""
        columns = [column for column, _ in terms]
        self.builder.add_row(name, columns, [factor for _, factor in terms], lower=limit)

    def total(self, name: str, terms: Terms) -> Terms:
        """Return a column that is the sum of the terms, all of them of at most 1 each."""
        if len(terms) < 2:
            return terms
        column = self.builder.add_column(f"sum_{name}", upper=sum(factor for _, factor in terms))
        self.builder.add_row(
            f"sum_{name}",
            [column, *(column for column, _ in terms)],
            [-1.0, *(factor for _, factor in terms)],
            lower=0,
            upper=0,
        )
        return [(column, 1.0)]


def scaled(terms: Terms, factor: float) -> Terms:
    """Return the terms, each multiplied."""
    return [(column, factor * coefficient) for column, coefficient in terms]


def joined(*parts: Terms) -> Terms:
    """Return the sum of expressions."""
    return [term for part in parts for term in part]
