"""Row of the table, and the file in which rows are kept."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class TableRow:
    """Row of the table: a model in an amount of memory, by one executor.

    Attributes
    ----------
    model, executor
        Names.
    plan
        Where the limit comes from: a share of the peak without recomputation, or the measured peak
        of per-block checkpointing (``blocks``) or of torch's budget (``budget-0.5``).
    nodes
        Operations of the graph.
    front
        How the step was traced.
    plain_ms, plain_bytes
        CPU time and measured peak of the plain step.
    other_bytes, other_slowdown
        Measured peak and slowdown of the other planner.
    limit_bytes
        The limit of our schedule.
    predicted_bytes, measured_bytes
        Its peak.
    predicted_slowdown, measured_slowdown
        Its time by that of the plain step.
    dispatch_slowdown
        Measured time, by that of the plain step, of the same executor where nothing is computed
        again: the schedule in 100 % of the peak, or what compiles without a plan.
    bound_slowdown
        Least slowdown of any schedule in the limit, as proved.
    solve_s
        CPU seconds of the solver.
    gradients
        ``equal`` to eager's to the bit, or their largest difference, relative.
    error
        Reason why there are no figures.
    """

    model: str
    plan: str
    executor: str
    nodes: int | None = None
    front: str = ""
    plain_ms: float | None = None
    plain_bytes: int | None = None
    other_bytes: int | None = None
    other_slowdown: float | None = None
    limit_bytes: int | None = None
    predicted_bytes: int | None = None
    measured_bytes: int | None = None
    predicted_slowdown: float | None = None
    measured_slowdown: float | None = None
    dispatch_slowdown: float | None = None
    bound_slowdown: float | None = None
    solve_s: float | None = None
    gradients: str = ""
    versions: str = ""
    error: str = ""

    @property
    def key(self) -> Key:
        """Key that the row is recorded under."""
        return self.model, self.plan, self.executor

    @property
    def recomputation(self) -> float | None:
        """Measured slowdown without that of the dispatch: what computing again costs."""
        if self.measured_slowdown is None or self.dispatch_slowdown is None:
            return None
        return self.measured_slowdown / self.dispatch_slowdown

    @property
    def holds(self) -> bool:
        """Whether the measured peak is within 1 % of the limit."""
        return bool(
            self.measured_bytes
            and self.limit_bytes
            and self.measured_bytes <= self.limit_bytes * 1.01
        )

    @property
    def is_predicted(self) -> bool:
        """Whether the predicted peak is within 3 % of the measured one."""
        return bool(
            self.measured_bytes
            and self.predicted_bytes
            and abs(self.predicted_bytes / self.measured_bytes - 1) <= 0.03
        )


_READ = {"int | None": int, "float | None": float}


def row_from(values: Mapping[str, str]) -> TableRow:
    """Return the row that a line of the file holds."""
    found: dict[str, Any] = {}
    for field in fields(TableRow):
        text = values.get(field.name, "")
        read = _READ.get(str(field.type))
        found[field.name] = text if read is None else (read(text) if text else None)
    return TableRow(**found)


def read_rows(path: Path) -> dict[Key, TableRow]:
    """Return the recorded rows."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row.key: row for row in map(row_from, csv.DictReader(file))}


def write_rows(path: Path, rows: Mapping[Key, TableRow]) -> None:
    """Write the rows; the file is replaced as a whole."""
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(TableRow)])
        writer.writeheader()
        for row in rows.values():
            line = {key: "" if value is None else value for key, value in asdict(row).items()}
            writer.writerow(
                {
                    key: f"{item:.5g}" if isinstance(item, float) else item
                    for key, item in line.items()
                }
            )
    beside.replace(path)
