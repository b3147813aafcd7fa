"""Run of a method as a comparison shows it: read from its result, or from a row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, SharedTotal
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.registry import kind_of
from jettison.solvers.core.result import Result

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = (
    "problem",
    "instance",
    "instance_sha256",
    "memory_bytes",
    "method",
    "time_ns",
    "base_time_ns",
    "lower_bound_ns",
    "valid_for",
    "all_schedules_lower_bound_ns",
    "infeasible_for",
    "least_memory_bytes",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """A method on a problem: its time, and what was proved there.

    Attributes
    ----------
    problem
        Name of the kind of problem.
    instance, instance_sha256
        Name and hash of the instance.
    memory_bytes
        Limit on memory.
    link
        Link to the host, if there is one.
    method
        Name of the method.
    time_ns
        Time of its schedule; None without one.
    reference_ns
        Time that overheads are relative to.
    bounds
        Classes of schedules, each with a lower bound on their times.
    empty_class
        A class of which no schedule fits, if one was proved to be such.
    least_memory_bytes
        Memory that such a schedule needs at least, where it is known.
    """

    problem: str
    instance: str
    instance_sha256: str
    memory_bytes: int
    link: Link | None
    method: str
    time_ns: int | None
    reference_ns: int
    bounds: tuple[tuple[ScheduleClass, int], ...]
    empty_class: ScheduleClass | None
    least_memory_bytes: int | None


def compared_runs(results: Sequence[Result] | pd.DataFrame) -> list[ComparedRun]:
    """Return the runs of results, or of the rows of a table that `jettison.compare` returns.

    Raises
    ------
    InputError
        If the table lacks a column.
    """
    if isinstance(results, Sequence):
        return [_of_result(result) for result in results]
    missing = [name for name in _COLUMNS if name not in results.columns]
    if missing:
        raise InputError(
            f"the table has no column {missing[0]}",
            field="results",
            expected="give what `jettison.compare` returns, or rows of it",
        )
    # Missing values of any type become None.
    rows = results.astype(object).where(results.notna(), None).to_dict("records")
    return [_of_row(row) for row in rows]


def _of_result(result: Result) -> ComparedRun:
    problem, proof = result.problem, result.infeasibility
    return ComparedRun(
        problem=problem.problem,
        instance=problem.instance.name,
        instance_sha256=problem.instance.sha256,
        memory_bytes=problem.memory_bytes,
        link=problem.link,
        method=result.method,
        time_ns=result.time_ns,
        reference_ns=kind_of(problem).reference(problem).time_ns,
        bounds=tuple((bound.valid_for, bound.time_ns) for bound in result.bounds),
        empty_class=None if proof is None else proof.valid_for,
        least_memory_bytes=None if proof is None else proof.least_memory_bytes,
    )


def _of_row(row: dict[Any, Any]) -> ComparedRun:
    bounds = []
    if row["lower_bound_ns"] is not None:
        bounds.append((ScheduleClass(row["valid_for"]), int(row["lower_bound_ns"])))
    if row["all_schedules_lower_bound_ns"] is not None:
        bounds.append((ScheduleClass.ALL, int(row["all_schedules_lower_bound_ns"])))
    empty = row["infeasible_for"]
    return ComparedRun(
        problem=row["problem"],
        instance=row["instance"],
        instance_sha256=row["instance_sha256"],
        memory_bytes=int(row["memory_bytes"]),
        link=_link(row),
        method=row["method"],
        time_ns=_whole(row["time_ns"]),
        # Tables of studies have no reference of their own.
        reference_ns=int(row.get("reference_time_ns") or row["base_time_ns"]),
        bounds=tuple(bounds),
        empty_class=None if empty is None else ScheduleClass(empty),
        least_memory_bytes=_whole(row["least_memory_bytes"]),
    )


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _link(row: dict[Any, Any]) -> Link | None:
    rate, total = (_whole(row.get(f"{name}bandwidth_bytes_per_s")) for name in ("", "total_"))
    if rate is None:
        return None
    return Link(rate) if total is None else Link(rate, SharedTotal(total))
