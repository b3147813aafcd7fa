"""Conclusions from recorded plans and optima, on rows that are written out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.studies.recorded_planners import OptimumRow, PlanRow, RecordedStudy

PLAN = PlanRow(
    model="m",
    pricing="alone",
    planner="torch-dp",
    setting="0.5",
    time_ns=130,
    peak_bytes=60,
    base_time_ns=100,
    store_all_peak_bytes=100,
    nodes=3,
    note=None,
    cpu_s=0.1,
    graph_sha256="0",
    versions="jettison 0",
    recorded="2026-01-01",
)
# Memory, time, peak and bound; the last one is a proof that nothing fits.
POINTS = [(80, 105, 78, 105), (60, 115, 58, 112), (50, 125, 50, 125), (40, 140, 40, 135)]


def optimum(memory: int, time: int | None, peak: int | None, bound: int | None) -> OptimumRow:
    return OptimumRow(
        model="m",
        pricing="alone",
        method="exact",
        memory_bytes=memory,
        time_ns=time,
        peak_bytes=peak,
        lower_bound_ns=bound,
        valid_for="in-order",
        status="optimal-in-order" if time else "infeasible",
        termination="completed",
        cpu_s=0.1,
        time_limit_s=1.0,
        graph_sha256="0",
        versions="jettison 0",
        recorded="2026-01-01",
    )


STUDY = RecordedStudy(
    {("m", "alone", "torch-dp", "0.5"): PLAN},
    {("m", "alone", "exact"): tuple(optimum(*point) for point in [*POINTS, (30, None, None, 100)])},
)


def test_what_fits_in_the_peak_of_a_plan_was_found_there_or_in_less_memory() -> None:
    # The schedule of 105 takes 78 bytes, that of 115 takes 58 of the plan's 60.
    assert STUDY.best_ns(PLAN) == 115
    assert STUDY.best_ns(replace(PLAN, peak_bytes=57)) == 125
    assert STUDY.best_ns(replace(PLAN, peak_bytes=39)) is None


def test_a_bound_holds_in_every_memory_up_to_its_own() -> None:
    # 112 is proved in 60 bytes, 105 in 80; in 61 bytes only the latter counts.
    assert STUDY.bound_ns(PLAN) == 112
    assert STUDY.bound_ns(replace(PLAN, peak_bytes=61)) == 105
    assert STUDY.bound_ns(replace(PLAN, peak_bytes=45)) == 125
    assert STUDY.bound_ns(replace(PLAN, peak_bytes=81)) == PLAN.base_time_ns


def test_the_least_peak_at_no_more_time_is_between_what_is_proved_and_what_was_found() -> None:
    # 125 of 130 was found in 50 bytes; in 40 at least 135 is necessary.
    least = STUDY.least_peak(PLAN)
    assert least is not None
    assert (least.bound_bytes, least.found_bytes) == (41, 50)
    # In 120 there is 115 in 58 bytes, and 50 bytes are too little.
    faster = STUDY.least_peak(replace(PLAN, time_ns=120))
    assert faster is not None
    assert (faster.bound_bytes, faster.found_bytes) == (51, 58)
    slow = STUDY.least_peak(replace(PLAN, time_ns=1000))
    assert slow is not None
    assert (slow.bound_bytes, slow.found_bytes) == (31, 40)
    assert STUDY.least_peak(replace(PLAN, time_ns=101)) is None


def test_a_plan_that_a_planner_does_not_have_is_none() -> None:
    assert STUDY.plan("m", "alone", "torch-dp", "0.5") == PLAN
    assert STUDY.plan("m", "alone", "torch-dp", "0.7") is None


def test_tables_that_are_not_there_or_have_other_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as info:
        RecordedStudy.read(tmp_path)
    path = tmp_path / "planners_plans.csv"
    assert str(info.value) == (
        f"{path}: the file cannot be read: No such file or directory; run benchmarks/planners.py"
    )
    path.write_text("model,time\nm,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: its columns are others; give model, pricing"):
        RecordedStudy.read(tmp_path)
