"""Table of marks: a line for each row, and a CSV file by which a stopped run goes on."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from benchmarks.marks.job import Job
from benchmarks.marks.row import Row
from jettison.instances.core.json_file import write_text
from jettison.instances.core.units import format_ns
from jettison.schedules.core.csv_text import csv_text

COLUMNS = (
    "key",
    "problem",
    "instance",
    "method",
    "time_ns",
    "bound_ns",
    "gap_percent",
    "cpu_s",
    "best_known",
    "mark",
    "held",
    "note",
)
_HELD = {True: "held", False: "LOST", None: "left out"}


def record_of(job: Job, row: Row) -> dict[str, str]:
    """Return the columns of a row as texts; nothing for what is not there."""
    gap = row.gap_percent
    return {
        "key": job.key,
        "problem": job.problem,
        "instance": row.instance,
        "method": row.method,
        "time_ns": "" if row.time_ns is None else str(row.time_ns),
        "bound_ns": "" if row.bound_ns is None else str(row.bound_ns),
        "gap_percent": "" if gap is None else f"{gap:.4f}",
        "cpu_s": "" if row.cpu_s is None else f"{row.cpu_s:.2f}",
        "best_known": row.best_known,
        "mark": row.mark,
        "held": _HELD[row.is_held],
        "note": row.note,
    }


def lines_of(record: dict[str, str]) -> list[str]:
    """Return what is printed of a record: what was found, then what the mark asks for."""
    shown = [record["problem"], record["instance"], record["method"]]
    if record["time_ns"]:
        shown.append(format_ns(int(record["time_ns"])))
    if record["bound_ns"]:
        shown.append(f"bound {format_ns(int(record['bound_ns']))}")
    if record["gap_percent"]:
        shown.append(f"gap {record['gap_percent']} %")
    if record["cpu_s"]:
        shown.append(f"{record['cpu_s']} CPU s")
    beside = [f"mark: {record['mark']}"]
    if record["best_known"]:
        beside.append(f"elsewhere: {record['best_known']}")
    if record["note"]:
        beside.append(record["note"])
    return [f"{record['held']:>8}  {', '.join(shown)}", *(f"          {item}" for item in beside)]


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """Return the records of a file by their keys; none if there is no such file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {record["key"]: record for record in csv.DictReader(file)}


def write_table(path: Path, records: dict[str, dict[str, str]]) -> None:
    """Write records; the file appears complete or not at all."""
    frame = pd.DataFrame(list(records.values()), columns=list(COLUMNS))
    write_text(csv_text(frame, with_index=False), path)
