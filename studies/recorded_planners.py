"""Recorded plans of planners and optima in memories, and what follows from both together.

``benchmarks/planners.py`` writes the two tables. Less memory never makes a schedule faster, so what
is proved in one memory is a bound in every smaller one, and what is found in one is a schedule in
every larger one; all rows of a step at a pricing are read together.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from jettison.instances.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """Plan of a planner; where it has none there is no time, and a note says why."""

    model: str
    pricing: str
    planner: str
    setting: str
    time_ns: int | None
    peak_bytes: int | None
    base_time_ns: int
    store_all_peak_bytes: int
    nodes: int
    note: str | None
    cpu_s: float
    graph_sha256: str
    versions: str
    recorded: str


@dataclass(frozen=True, kw_only=True)
class OptimumRow:
    """Time and bound that a method finds and proves in a memory."""

    model: str
    pricing: str
    method: str
    memory_bytes: int
    time_ns: int | None
    peak_bytes: int | None
    lower_bound_ns: int | None
    valid_for: str | None
    status: str
    termination: str
    cpu_s: float
    time_limit_s: float
    graph_sha256: str
    versions: str
    recorded: str


_Row = TypeVar("_Row", PlanRow, OptimumRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastPeak:
    """Least peak at no more than some time: the least that was found, and a lower bound."""

    found_bytes: int
    bound_bytes: int


@dataclass(frozen=True)
class RecordedStudy:
    """Rows of the two tables.

    Attributes
    ----------
    plans
        By model, pricing, planner and setting.
    optima
        By model, pricing and method.
    """

    plans: Mapping[tuple[str, str, str, str], PlanRow]
    optima: Mapping[tuple[str, str, str], tuple[OptimumRow, ...]]

    @classmethod
    def read(cls, folder: Path) -> RecordedStudy:
        """Read ``planners_plans.csv`` and ``planners_optimum.csv`` in a folder.

        Raises
        ------
        InputError
            If a file cannot be read, or a row has not what belongs into it.
        """
        plans = _rows(folder / "planners_plans.csv", PlanRow)
        optima: dict[tuple[str, str, str], list[OptimumRow]] = {}
        for row in _rows(folder / "planners_optimum.csv", OptimumRow):
            optima.setdefault((row.model, row.pricing, row.method), []).append(row)
        return cls(
            {(row.model, row.pricing, row.planner, row.setting): row for row in plans},
            {key: tuple(rows) for key, rows in optima.items()},
        )

    def plan(self, model: str, pricing: str, planner: str, setting: str = "") -> PlanRow | None:
        """Return a plan, or None if there is none."""
        row = self.plans.get((model, pricing, planner, setting))
        return None if row is None or row.time_ns is None else row

    def best_ns(self, plan: PlanRow, method: str = "exact") -> int | None:
        """Return the least time that a method found in no more memory than the peak of a plan."""
        return min(
            (
                row.time_ns
                for row in self._of(plan, method)
                if row.time_ns is not None
                and row.peak_bytes is not None
                and row.peak_bytes <= (plan.peak_bytes or 0)
            ),
            default=None,
        )

    def bound_ns(self, plan: PlanRow, method: str = "exact") -> int:
        """Return the largest bound of a method that holds in the peak of a plan."""
        return max(
            (
                row.lower_bound_ns
                for row in self._of(plan, method)
                if row.lower_bound_ns is not None and row.memory_bytes >= (plan.peak_bytes or 0)
            ),
            default=plan.base_time_ns,
        )

    def least_peak(self, plan: PlanRow) -> LeastPeak | None:
        """Return the least peak at no more time than a plan takes; None where none was found.

        In the largest memory in which more time is proved necessary, or nothing fits, there is no
        schedule as fast as the plan; one byte more is the bound.
        """
        assert plan.time_ns is not None
        rows = self._of(plan, "exact")
        found = [
            row.peak_bytes
            for row in rows
            if row.time_ns is not None
            and row.peak_bytes is not None
            and row.time_ns <= plan.time_ns
        ]
        too_little = [
            row.memory_bytes
            for row in rows
            if row.status.startswith("infeasible")
            or (row.lower_bound_ns is not None and row.lower_bound_ns > plan.time_ns)
        ]
        if not found:
            return None
        return LeastPeak(found_bytes=min(found), bound_bytes=max(too_little, default=0) + 1)

    def _of(self, plan: PlanRow, method: str) -> tuple[OptimumRow, ...]:
        return self.optima.get((plan.model, plan.pricing, method), ())


def _rows(path: Path, row_class: type[_Row]) -> Iterable[_Row]:
    """Return the rows of a table, with numbers where its class has numbers."""
    types = get_type_hints(row_class)
    names = [field.name for field in fields(row_class)]
    found = []
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            for number, row in enumerate(csv.DictReader(stream), start=2):
                if list(row) != names:
                    raise InputError(
                        "its columns are others",
                        source=str(path),
                        field=f"line {number}",
                        expected=f"give {', '.join(names)}",
                    )
                found.append(row_class(**{name: _value(row[name], types[name]) for name in names}))
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error.strerror}",
            source=str(path),
            expected="run benchmarks/planners.py",
        ) from None
    except ValueError as error:
        raise InputError(
            str(error), source=str(path), expected="remove the row, and run benchmarks/planners.py"
        ) from None
    return found


def _value(text: str, kind: object) -> Any:
    """Return a cell as its type says; an empty one is None where that may be."""
    if kind is str:
        return text
    if not text:
        return None
    if kind is float:
        return float(text)
    return text if kind == str | None else int(text)
