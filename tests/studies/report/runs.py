"""Jobs with results that are made up, for pictures whose numbers can be derived by hand."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.resources import Resources
from jettison.studies.job import Job
from jettison.studies.report.run import ProvedBound, Run, TracePoint

ALL, PERSISTENT = ScheduleClass.ALL, ScheduleClass.PERSISTENT


def run_of(
    method: str,
    memory_bytes: int,
    time_ns: int | None = None,
    *,
    bounds: Sequence[tuple[int, ScheduleClass]] = (),
    infeasible_for: ScheduleClass | None = None,
    least_memory_bytes: int | None = None,
    seconds: float = 1.0,
    trace: Sequence[tuple[float, int | None, int | None]] = (),
    seed: int = 0,
    time_limit_s: float = 10.0,
    instance: str = "i",
    problem: str = "remat-chain",
) -> Run:
    """Return a job with base time 10 ns, on an instance whose hash is its name."""
    job = Job(
        problem=problem,
        method=method,
        instance=instance,
        instance_sha256=instance,
        resources=Resources(memory=f"{memory_bytes}B"),
        memory_bytes=memory_bytes,
        bandwidth_bytes_per_s=None,
        time_limit_s=time_limit_s,
        gap=0.0,
        threads=1,
        seed=seed,
        versions={"jettison": "0"},
    )
    return Run(
        key=job.key,
        job=job,
        started=0.0,
        state="done",
        failed=None,
        status="feasible" if time_ns is not None else "not-found",
        termination="completed",
        note=None,
        time_ns=time_ns,
        peak_bytes=None if time_ns is None else memory_bytes,
        schedule_class=None if time_ns is None else str(PERSISTENT),
        base_time_ns=10,
        lower_bound_ns=10,
        gap=None if time_ns is None else (time_ns - 10) / time_ns,
        valid_for=str(ALL),
        best_bound_ns=10,
        gap_to_best=None if time_ns is None else (time_ns - 10) / time_ns,
        least_memory_bytes=least_memory_bytes,
        infeasible_for=infeasible_for,
        seconds=seconds,
        cpu_s=seconds,
        bounds=tuple(ProvedBound(time, kind, "exact arithmetic", method) for time, kind in bounds),
        trace=tuple(TracePoint(*point) for point in trace),
    )
