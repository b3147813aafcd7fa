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
    schedules, optimal
        Results with a schedule, and those of them with a bound that meets it.
    infeasible
        Proofs that there is no schedule, by the class of schedules that they hold for.
    not_applicable, not_found, unknown
        Results with neither schedule, bound nor proof: of methods that the instance is not for, of
        those that came to their end, and of those that came to a limit.
    median, largest
        Of the gaps of all schedules to the best bound that any job of the folder proved for them,
        as in the report; None without one.
    failures
        How often jobs failed for each reason.
    """

    schedules: int
    optimal: int
    infeasible: Mapping[str, int]
    not_applicable: int
    not_found: int
    unknown: int
    median: float | None
    largest: float | None
    failures: Mapping[str, int]

    @classmethod
    def of(cls, folder: ResultFolder, keys: Iterable[str]) -> GapSummary:
        """Summarise the records of those jobs that have one."""
        to_best = gaps_to_best(folder.survey().records.values())
        gaps, failures, schedules = [], Counter[str](), 0
        infeasible, statuses = Counter[str](), Counter[str]()
        for key in keys:
            record = folder.record(key)
            result = record.get("result")
            if result is None:
                failures[record["failed"].splitlines()[0]] += 1
                continue
            schedules += result["time_ns"] is not None
            if result["infeasible_for"] is not None:
                infeasible[result["infeasible_for"]] += 1
            statuses[result["status"]] += 1
            if key in to_best:
                gaps.append(to_best[key])
        return cls(
            schedules=schedules,
            optimal=sum(gap == 0 for gap in gaps),
            infeasible=infeasible,
            not_applicable=statuses["not-applicable"],
            not_found=statuses["not-found"],
            unknown=statuses["unknown"],
            median=statistics.median(gaps) if gaps else None,
            largest=max(gaps, default=None),
            failures=failures,
        )
