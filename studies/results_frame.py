"""Results of a study as a tidy table: one row for each job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jettison.instances.core.atomic_file import replacing
from jettison.instances.core.card import CARD_KEYS, card_text
from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.schedules.core.csv_text import csv_text
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.answers.gap import gap_of
from jettison.studies.result_folder import ResultFolder

if TYPE_CHECKING:
    import pandas as pd

_FROM_RESULT = (
    "status",
    "termination",
    "time_ns",
    "peak_bytes",
    "base_time_ns",
    "lower_bound_ns",
    "evidence",
    "valid_for",
    "gap",
    "least_memory_bytes",
    *CARD_KEYS,
    "infeasible_for",
    "seconds",
    "note",
)
_WHOLE = (
    "memory_bytes",
    "bandwidth_bytes_per_s",
    "total_bandwidth_bytes_per_s",
    "time_ns",
    "peak_bytes",
    "base_time_ns",
    "lower_bound_ns",
    "least_memory_bytes",
    *(key for key in CARD_KEYS if key.endswith("_bytes")),
    "best_bound_ns",
    "peak_memory_bytes",
    "seed",
    "threads",
    "devices",
    "microbatches",
    "weight_copies",
    "chunks",
)


def results_frame(folder: ResultFolder) -> pd.DataFrame:
    """Return all records of a folder that can be read, one row each.

    Returns
    -------
    DataFrame
        Indexed by the key of the job: ``problem``, ``instance``, ``instance_sha256``, ``memory``
        as it was written, ``memory_bytes``, ``bandwidth_bytes_per_s``,
        ``total_bandwidth_bytes_per_s``, ``models``, those of pipelines ``devices``,
        ``microbatches``, ``weight_copies`` and ``chunks``, ``host_memory`` as it was written,
        ``method``, ``time_limit_s``, ``gap_limit``, ``threads``, ``seed``, ``state``, ``failed``;
        what the result says; ``best_bound_ns``, the best bound that any job of the same problem
        proved for a class that holds the schedule, and ``gap_to_best``, the schedule's distance to
        it; and
        ``wall_s``, ``cpu_s``, ``peak_memory_bytes`` of the process. Whole numbers are ``Int64``,
        with missing values where there are none.

    Raises
    ------
    InputError
        If the folder holds no results.
    """
    return frame_of(list(folder.survey().records.values()), folder)


def frame_of(records: Sequence[Mapping[str, Any]], folder: ResultFolder) -> pd.DataFrame:
    """Return some records of a folder, one row each; see `results_frame`.

    Raises
    ------
    InputError
        If there are none.
    """
    import pandas as pd

    if not records:
        raise InputError(
            "no results yet", source=str(folder.path), expected="run jettison sweep first"
        )
    best = _best_bounds(records)
    frame = pd.DataFrame([_row(record, best) for record in records]).set_index("key")
    for column in _WHOLE:
        frame[column] = frame[column].astype("Int64")
    return frame.sort_values(
        [
            "problem",
            "instance",
            "devices",
            "microbatches",
            "memory_bytes",
            "bandwidth_bytes_per_s",
            "method",
            "seed",
        ]
    )


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, Parquet or DuckDB, by the suffix of the path; complete or not at all.

    Raises
    ------
    InputError
        If the suffix is another one, or the file cannot be written.
    MissingExtraError
        If Parquet or DuckDB is asked for and not installed.
    """
    match path.suffix:
        case ".csv":
            with replacing(path) as stream:
                stream.write(csv_text(frame).encode("utf-8"))
        case ".parquet":
            try:
                import pyarrow  # noqa: F401
            except ImportError:
                raise MissingExtraError("pyarrow", "tables", "a Parquet file") from None
            with replacing(path) as stream:
                frame.to_parquet(stream)
        case ".duckdb":
            _write_duckdb(frame, path)
        case suffix:
            raise InputError(
                f"{suffix or 'no suffix'}",
                field="table",
                source=str(path),
                expected="write .csv, .parquet or .duckdb",
            )


def _write_duckdb(frame: pd.DataFrame, path: Path) -> None:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", "tables", "a DuckDB file") from None
    with replacing(path) as stream:
        # The database makes its own file: one that is empty already would be none to it.
        made = Path(stream.name).with_suffix(".made.duckdb")
        try:
            with duckdb.connect(made) as database:
                database.register("given", frame.reset_index())
                database.execute("create table results as select * from given")
            stream.write(made.read_bytes())
        finally:
            made.unlink(missing_ok=True)


def _asked(record: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the fields that jobs on the same problem have in common."""
    job = record["job"]
    given = job["resources"]
    return (
        job["problem"],
        job["instance_sha256"],
        job["memory_bytes"],
        job["bandwidth_bytes_per_s"],
        job.get("total_bandwidth_bytes_per_s"),
        given["transfers"],
        given["models"],
        given.get("devices"),
        given.get("microbatches"),
        given.get("weight_copies"),
        given.get("chunks"),
        given.get("host_memory"),
    )


def _memory_as_written(given: Mapping[str, Any]) -> str | None:
    if given.get("card") is not None:
        return card_text(given["card"], given.get("resident"))
    return given["memory"] if given["alpha"] is None else f"alpha={given['alpha']}"


def _best_bounds(
    records: Iterable[Mapping[str, Any]],
) -> dict[tuple[object, ...], dict[ScheduleClass, int]]:
    """Return the best bound of each problem, for each class of schedules."""
    best: dict[tuple[object, ...], dict[ScheduleClass, int]] = {}
    for record in records:
        bounds = best.setdefault(_asked(record), {})
        for bound in record.get("bounds", []):
            proved = ScheduleClass(bound["valid_for"])
            for covered in filter(proved.covers, ScheduleClass):
                bounds[covered] = max(bound["time_ns"], bounds.get(covered, 0))
    return best


def _row(
    record: Mapping[str, Any], best: Mapping[tuple[object, ...], Mapping[ScheduleClass, int]]
) -> dict[str, object]:
    job, result = record["job"], record.get("result") or {}
    given = job["resources"]
    row: dict[str, object] = {
        "key": record["key"],
        "problem": job["problem"],
        "instance": job["instance"],
        "instance_sha256": job["instance_sha256"],
        "memory": _memory_as_written(given),
        "memory_bytes": job["memory_bytes"],
        "bandwidth_bytes_per_s": job["bandwidth_bytes_per_s"],
        "total_bandwidth_bytes_per_s": job.get("total_bandwidth_bytes_per_s"),
        "transfers": given["transfers"],
        "models": given["models"],
        "devices": given.get("devices"),
        "microbatches": given.get("microbatches"),
        "weight_copies": given.get("weight_copies"),
        "chunks": given.get("chunks"),
        "host_memory": given.get("host_memory"),
        "method": job["method"],
        "time_limit_s": job["time_limit_s"],
        "gap_limit": job["gap"],
        "threads": job["threads"],
        "seed": job["seed"],
        "state": record["state"],
        "failed": record.get("failed"),
        **{name: result.get(name) for name in _FROM_RESULT},
        "schedule_class": record.get("schedule_class"),
        "wall_s": record.get("wall_s"),
        "cpu_s": record.get("cpu_s"),
        "peak_memory_bytes": record.get("peak_memory_bytes"),
    }
    kind: str | None = record.get("schedule_class")
    time_ns = result.get("time_ns")
    bounds = best.get(_asked(record), {})
    row["best_bound_ns"] = bounds.get(ScheduleClass(kind) if kind else ScheduleClass.ALL)
    row["gap_to_best"] = None
    if kind is not None and time_ns is not None:
        row["gap_to_best"] = gap_of(time_ns, bounds[ScheduleClass(kind)], result["base_time_ns"])
    return row


def gaps_to_best(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return, for each key of a job with a schedule, the gap to the best bound of any job."""
    known = list(records)
    best = _best_bounds(known)
    rows = (_row(record, best) for record in known)
    return {str(row["key"]): gap for row in rows if isinstance(gap := row["gap_to_best"], float)}
