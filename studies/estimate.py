"""Estimate of the time for the missing jobs of a plan, from earlier records of their methods."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import Plan


@dataclass(frozen=True)
class Estimate:
    """Seconds that jobs take one after the other.

    Attributes
    ----------
    known
        How many of the jobs have a method with records for their problem.
    expected_s
        The median of these records for each job, those of the same instance if there are any; the
        time limit where there are no records. None if there are none at all.
    at_limits_s
        If each job runs to its time limit.
    """

    known: int
    expected_s: float | None
    at_limits_s: float

    @classmethod
    def of(cls, study: Study, plan: Plan, folder: ResultFolder) -> Estimate:
        """Make the estimate from all records of the folder, those of other studies included."""
        seconds: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
        known_records = folder.survey().records if (folder.path / "jobs").is_dir() else {}
        for record in known_records.values():
            job = record["job"]
            if record["state"] == "done":
                method = (job["problem"], job["method"])
                seconds[method].append(record["wall_s"])
                seconds[(*method, job["instance_sha256"])].append(record["wall_s"])
        expected_s, at_limits_s, known = 0.0, 0.0, 0
        for job in map(plan.jobs.__getitem__, plan.missing):
            most_s = min(job.time_limit_s, study.wall_limit_s)
            at_limits_s += most_s
            method = (job.problem, job.method)
            found = seconds.get((*method, job.instance_sha256)) or seconds.get(method)
            known += found is not None
            # A run starts a process, and may end a little after its time limit.
            expected_s += statistics.median(found) if found else most_s
        return cls(known, expected_s if known else None, at_limits_s)
