"""Run of one job for the page, from its row of the results' table and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.registry import find_kind
from jettison.studies.job import Job
from jettison.studies.result_folder import ResultFolder
from jettison.studies.results_frame import frame_of

if TYPE_CHECKING:
    import pandas as pd


class ProvedBound(NamedTuple):
    """A lower bound that a job has proved."""

    time_ns: int
    valid_for: ScheduleClass
    evidence: str
    method: str


class CertifiedClaim(NamedTuple):
    """Claim that a job's certificate proves; without a time, that nothing fits."""

    time_ns: int | None
    valid_for: str


class TracePoint(NamedTuple):
    """Progress of a method after some seconds; values that it did not know are None."""

    seconds: float
    time_ns: int | None
    bound_ns: int | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """Job with its result.

    Attributes
    ----------
    key
        The key of the job.
    job
        What was asked for.
    started
        Seconds since 1970; None where nothing says so.
    state, failed
        As in the record.
    status, termination, note
        Of the result; None without one.
    time_ns, peak_bytes, schedule_class
        Of the schedule; None without one.
    base_time_ns
        Time without recomputation and waiting.
    lower_bound_ns, gap, valid_for
        The method's own bound, and its distance.
    best_bound_ns, gap_to_best
        The best bound of the study for the class of the schedule, and the distance to it.
    least_memory_bytes, infeasible_for
        What a proof of infeasibility says; None without one.
    seconds, cpu_s
        What it took.
    bounds, trace
        All that it proved, and its progress.
    certified
        What its certificate proves; None without one.
    """

    key: str
    job: Job
    started: float | None
    state: str
    failed: str | None
    status: str | None
    termination: str | None
    note: str | None
    time_ns: int | None
    peak_bytes: int | None
    schedule_class: str | None
    base_time_ns: int | None
    lower_bound_ns: int | None
    gap: float | None
    valid_for: str | None
    best_bound_ns: int | None
    gap_to_best: float | None
    least_memory_bytes: int | None
    infeasible_for: ScheduleClass | None
    seconds: float | None
    cpu_s: float | None
    bounds: tuple[ProvedBound, ...]
    trace: tuple[TracePoint, ...]
    certified: CertifiedClaim | None = None

    @property
    def is_infeasible(self) -> bool:
        """Whether it is proved that nothing of some class of schedules fits."""
        return self.infeasible_for is not None


class LoadedRuns(NamedTuple):
    """The results of a folder.

    Attributes
    ----------
    runs
        In the order of the table.
    frame
        Their table.
    left_out
        What is wrong with the records that are in neither.
    """

    runs: list[Run]
    frame: pd.DataFrame
    left_out: tuple[InputError, ...]


def load_runs(folder: ResultFolder) -> LoadedRuns:
    """Read all results of a folder.

    Raises
    ------
    InputError
        If there are none.
    """
    survey = folder.survey()
    left_out = list(survey.damaged.values())
    records = {}
    for key, record in survey.records.items():
        try:
            records[key] = record, _Said.of(record)
        except (KeyError, TypeError, ValueError) as error:
            left_out.append(
                InputError(
                    f"not a record that this version reads: {type(error).__name__}: {error}",
                    source=str(folder.record_path(key)),
                    expected="delete it, and start the sweep again",
                )
            )
    frame = frame_of([record for record, _ in records.values()], folder)
    rows = frame.astype(object).where(frame.notna(), None).to_dict("index")
    runs = [_run(str(key), row, *records[str(key)]) for key, row in rows.items()]
    return LoadedRuns(runs, frame, tuple(left_out))


class _Said(NamedTuple):
    """Contents of a record beyond its row of the table."""

    job: Job
    infeasible_for: ScheduleClass | None
    bounds: tuple[ProvedBound, ...]
    trace: tuple[TracePoint, ...]
    certified: CertifiedClaim | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> _Said:
        job = Job.from_json(record["job"])
        claim = record.get("certificate")
        return cls(
            job,
            _infeasible_for(record, job.problem),
            tuple(
                ProvedBound(
                    bound["time_ns"],
                    ScheduleClass(bound["valid_for"]),
                    bound["evidence"],
                    bound["method"],
                )
                for bound in record.get("bounds", [])
            ),
            tuple(TracePoint(*point) for point in record.get("trace", [])),
            None if claim is None else CertifiedClaim(claim["time_ns"], claim["valid_for"]),
        )


def _run(key: str, row: Mapping[Any, Any], record: Mapping[str, Any], said: _Said) -> Run:
    return Run(
        key=key,
        started=record.get("started"),
        **said._asdict(),
        **{name: row[name] for name in _FROM_ROW},
    )


_FROM_ROW = (
    "state",
    "failed",
    "status",
    "termination",
    "note",
    "time_ns",
    "peak_bytes",
    "schedule_class",
    "base_time_ns",
    "lower_bound_ns",
    "gap",
    "valid_for",
    "best_bound_ns",
    "gap_to_best",
    "least_memory_bytes",
    "seconds",
    "cpu_s",
)


def _infeasible_for(record: Mapping[str, Any], problem: str) -> ScheduleClass | None:
    """Return the class for which there is no schedule; where none is named, the narrow one."""
    result = record.get("result") or {}
    named = result.get("infeasible_for")
    if named is not None:
        return ScheduleClass(named)
    return find_kind(problem).narrow_class if result.get("status") == "infeasible" else None
