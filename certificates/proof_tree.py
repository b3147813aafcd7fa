"""Check of a branching tree: every leaf must prove the claim in its part of the space.

At any time some columns have narrower bounds than in the model: those of the branches above, and of
columns fixed on the way. A branch on an integer column at `v` splits the points into those with at
most `v` and those with at least `v + 1`, so that the leaves cover all of them; a column may be
fixed to a value where the multipliers prove the claim for all its other values. The checker holds
the path to the present node only, so that memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .certificate_file import Record, integer, pairs
from .derived_rows import cover, rounded
from .dual_bound import DualBound
from .errors import CertificateError
from .integer_model import IntegerModel

_MOST_DEPTH = 100_000

# Coefficients that the multipliers of a proof may touch, a quarter of an hour at least: a short
# line can change a long row, and a file has many lines.
_MOST_WORK = 2_000_000_000


@dataclass(frozen=True, slots=True)
class _Branch:
    """Branch whose first or second subtree is being read."""

    column: int
    least_above: int
    trail_length: int
    is_second: bool


@dataclass(frozen=True, slots=True)
class TreeSize:
    """Size of a checked proof."""

    derived_rows: int
    leaves: int

    def __str__(self) -> str:
        return "1 leaf" if self.leaves == 1 else f"{self.leaves} leaves"


class ProofTree:
    r"""Current node of the tree, with its column bounds and both vectors of multipliers.

    Parameters
    ----------
    model
        The model; derived rows are added to it.
    scale_bits
        The :math:`k` of multipliers :math:`Y / 2^k`.
    to_beat
        Value that the objective must exceed at every point; None to prove that there is no point.
    """

    def __init__(self, model: IntegerModel, scale_bits: int, to_beat: int | None) -> None:
        self._model = model
        self._scale_bits = scale_bits
        self._threshold = None if to_beat is None else to_beat << scale_bits
        self._lower, self._upper = list(model.lower), list(model.upper)
        self._column_of = {name: number for number, name in enumerate(model.column_names)}
        # Both are set up when the first record of the tree comes: all rows are known by then.
        self._bound: DualBound | None = None
        self._ray: DualBound | None = None
        self._path: list[_Branch] = []
        self._trail: list[tuple[int, int, int]] = []
        self._is_complete = False
        self._derived_rows = self._leaves = self._work = 0

    def check(self, records: Iterable[Record]) -> TreeSize:
        """Check all records of the tree.

        Raises
        ------
        CertificateError
            At the first record that is wrong, or if a part of the space stays open.
        """
        for record in records:
            if self._is_complete:
                raise CertificateError("the tree was complete before this line", record.line)
            try:
                self._follow(record)
            except CertificateError as error:
                raise CertificateError(error.problem, record.line) from None
        if not self._is_complete:
            raise CertificateError("the tree is not complete: a part of the space stays open")
        return TreeSize(self._derived_rows, self._leaves)

    def _follow(self, record: Record) -> None:
        match record.letter:
            case "G" | "K":
                self._derive(record)
            case "b":
                self._branch(record)
            case "x":
                self._fix(record)
            case "l":
                self._close(record, self._optimality(), self._threshold)
            case "f":
                self._close(record, self._feasibility(), 0)
            case _:
                raise CertificateError(f"unknown record {record.letter[:20]!r}")

    def _derive(self, record: Record) -> None:
        if self._bound is not None or self._ray is not None or self._path:
            raise CertificateError("rows are derived before the tree begins")
        first, *rest = record.parts or [""]
        if record.letter == "G":
            weights = pairs(rest, record.line)
            row = rounded(self._model, integer(first), weights)
            self._spend(sum(len(self._model.rows[number].columns) for number, _ in weights))
        else:
            second, *items = rest or [""]
            most, profits = integer(second), pairs(items, record.line)
            row = cover(self._model, integer(first), most, profits)
            self._spend(len(profits) * (most + 2))
        self._model.derive(row)
        self._derived_rows += 1

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > _MOST_WORK:
            raise CertificateError(f"the proof changes more than {_MOST_WORK} coefficients")

    def _branch(self, record: Record) -> None:
        if len(record.parts) != 2:
            raise CertificateError("a branch names a column and a value")
        name, value = record.parts[0], integer(record.parts[1])
        column = self._column_of.get(name)
        if column is None or not self._model.is_integer[column]:
            raise CertificateError(f"there is no integer column {name[:80]!r}")
        if not self._lower[column] <= value < self._upper[column]:
            raise CertificateError(
                f"{name} lies from {self._lower[column]} to {self._upper[column]} here; "
                f"a branch at {value} splits nothing"
            )
        if len(self._path) >= _MOST_DEPTH:
            raise CertificateError(f"the tree is deeper than {_MOST_DEPTH}")
        self._path.append(_Branch(column, value + 1, len(self._trail), is_second=False))
        self._set_bounds(column, self._lower[column], value)

    def _fix(self, record: Record) -> None:
        if self._threshold is None:
            raise CertificateError("there is no objective by which columns could be fixed")
        mark = record.parts.index("|") if "|" in record.parts else len(record.parts)
        bound = self._optimality()
        self._spend(bound.change(pairs(record.parts[:mark], record.line)))
        for column, value in pairs(record.parts[mark + 1 :], record.line, "="):
            if not 0 <= column < len(self._lower) or not self._model.is_integer[column]:
                raise CertificateError(f"there is no integer column {column}")
            lower, upper = self._lower[column], self._upper[column]
            if lower == upper or value not in {lower, upper}:
                raise CertificateError(
                    f"{self._model.column_names[column]} lies from {lower} to {upper} here; "
                    f"it cannot be fixed to {value}"
                )
            if bound.value_without(column, value) <= self._threshold:
                raise CertificateError(
                    f"{self._model.column_names[column]} may be other than {value}"
                )
            self._set_bounds(column, value, value)

    def _close(self, record: Record, bound: DualBound, threshold: int | None) -> None:
        if threshold is None:
            raise CertificateError("a claim that there is no schedule needs a leaf without points")
        self._spend(bound.change(pairs(record.parts, record.line)))
        if bound.value <= threshold:
            raise CertificateError(
                f"the leaf proves {bound.value} / 2^{self._scale_bits}, which does not exceed "
                f"{threshold >> self._scale_bits}"
            )
        self._leaves += 1
        while self._path:
            branch = self._path.pop()
            self._undo(branch.trail_length)
            if not branch.is_second:
                self._path.append(
                    _Branch(branch.column, branch.least_above, len(self._trail), is_second=True)
                )
                self._set_bounds(branch.column, branch.least_above, self._upper[branch.column])
                return
        self._is_complete = True

    def _set_bounds(self, column: int, lower: int, upper: int) -> None:
        self._trail.append((column, self._lower[column], self._upper[column]))
        self._change(column, lower, upper)

    def _undo(self, length: int) -> None:
        while len(self._trail) > length:
            self._change(*self._trail.pop())

    def _change(self, column: int, lower: int, upper: int) -> None:
        self._lower[column], self._upper[column] = lower, upper
        for bound in (self._bound, self._ray):
            if bound is not None:
                bound.column_changed(column)

    def _optimality(self) -> DualBound:
        if self._bound is None:
            costs = [cost << self._scale_bits for cost in self._model.costs]
            self._bound = DualBound(self._model, costs, self._lower, self._upper)
        return self._bound

    def _feasibility(self) -> DualBound:
        if self._ray is None:
            costs = [0] * len(self._model.costs)
            self._ray = DualBound(self._model, costs, self._lower, self._upper)
        return self._ray
