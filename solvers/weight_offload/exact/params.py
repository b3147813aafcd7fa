"""Parameters of exact for weight offloading: the limits of its sweeps, and its shares of time."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.weight_offload.local_search import WeightSearchParams


@dataclass(frozen=True, kw_only=True)
class WeightExactParams(WeightSearchParams):
    """Parameters of exact: the limits of its sweeps, and the searches before and after them.

    Attributes
    ----------
    most_beginnings
        States at a cut for one period, at most; about 300 bytes each.
    few_beginnings
        States up to which a question is asked at a cut that has no answer elsewhere.
    few_labels
        Labels of the sweeps that are made before a search for schedules, at most; about 200 bytes
        each.
    labels_of_cuts
        Labels after which the improvement by cuts ends that follows local search.
    times_labels
        Where the shortest period takes more, so many times as many are tried, and so on.
    most_labels
        Labels of a sweep, at most.
    most_rounds
        Rounds in which a sweep is repeated with more time left of the transfers, at most.
    share_of_search
        Share of the time limit for local search, where small sweeps do not close the gap.
    share_of_events
        Share of the time that is left for each of two questions to HiGHS: for a step without idle
        time, and for the least period.
    most_event_coefficients
        Coefficients of the largest event model that HiGHS is given.
    work_without_idle, work_of_least
        Work of HiGHS on the first question and on the second, at most, as `highs_work` counts it;
        about 20 and 100 microseconds each on chains of 15 layers.
    """

    most_beginnings: int = 400_000
    few_beginnings: int = 2_000
    few_labels: int = 1_000_000
    labels_of_cuts: int = 2_000_000
    times_labels: int = 4
    most_labels: int = 8_000_000
    most_rounds: int = 20
    share_of_search: float = 0.25
    share_of_events: float = 0.75
    most_event_coefficients: int = 1_000_000
    work_without_idle: int = 1_000_000
    work_of_least: int = 500_000


WEIGHT_EXACT = WeightExactParams()
