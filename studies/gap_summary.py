"""Summary of a study's gaps in a few numbers."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jettison.studies.result_folder import ResultFolder
from jettison.studies.results_frame import gaps_to_best


@dataclass(frozen=True)
class GapSummary:
    """Counts and gaps over the records of some jobs.

    Attributes
    ----------
    schedules, optimal, infeasible
        Results with a schedule, those of them with a bound that meets it, and proofs of none.
    median, largest
        Of the gaps of all schedules to the best bound that any job of the folder proved for them,
        as in the report; None without one.
    failures
        How often jobs failed for each reason.
    """

    schedules: int
    optimal: int
    infeasible: int
    median: float | None
    largest: float | None
    failures: Mapping[str, int]

    @classmethod
    def of(cls, folder: ResultFolder, keys: Iterable[str]) -> GapSummary:
        """Summarise the records of those jobs that have one."""
        to_best = gaps_to_best(folder.survey().records.values())
        gaps, failures, infeasible, schedules = [], Counter[str](), 0, 0
        for key in keys:
            record = folder.record(key)
            result = record.get("result")
            if result is None:
                failures[record["failed"].splitlines()[0]] += 1
                continue
            schedules += result["time_ns"] is not None
            infeasible += result["least_memory_bytes"] is not None
            if key in to_best:
                gaps.append(to_best[key])
        return cls(
            schedules=schedules,
            optimal=sum(gap == 0 for gap in gaps),
            infeasible=infeasible,
            median=statistics.median(gaps) if gaps else None,
            largest=max(gaps, default=None),
            failures=failures,
        )
