"""Estimate of the time that the rest of a study takes, from the records that there are."""

from __future__ import annotations

from pathlib import Path

from jettison.studies.estimate import Estimate
from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import Plan, plan_study
from tests.studies.tiny_study import write_study

RESULT = {
    "status": "unknown",
    "termination": "time-limit",
    **dict.fromkeys(("time_ns", "peak_bytes", "lower_bound_ns", "least_memory_bytes")),
    "base_time_ns": 1,
    **dict.fromkeys(("evidence", "valid_for", "note", "gap")),
    "seconds": 1.0,
}


def record(folder: ResultFolder, plan: Plan, key: str, wall_s: float) -> None:
    folder.write(
        key,
        {
            "job": plan.jobs[key].to_json(),
            "state": "done",
            "started": 1.0,
            "wall_s": wall_s,
            "trace": [],
            "result": RESULT,
            "bounds": [],
            "schedule_class": None,
            "cpu_s": 0.1,
            "peak_memory_bytes": 1,
        },
    )


def test_without_records_only_the_limits_are_known(tmp_path: Path) -> None:
    path = write_study(tmp_path, seeds=3, head="wall_limit_s = 50\n")
    study, folder = Study.from_toml(path), ResultFolder(tmp_path / "results")
    estimate = Estimate.of(study, plan_study(study, folder), folder)
    # Each of three jobs has a time limit of 60 s, and is killed after 50.
    assert estimate == Estimate(known=0, expected_s=None, at_limits_s=150.0)


def test_the_median_of_a_method_stands_for_its_missing_jobs(tmp_path: Path) -> None:
    path = write_study(tmp_path, methods=("rotor", "revolve"), seeds=4)
    study, folder = Study.from_toml(path), ResultFolder(tmp_path / "results")
    folder.create()
    plan = plan_study(study, folder)
    rotor = [key for key, job in plan.jobs.items() if job.method == "rotor"]
    for key, wall_s in zip(rotor, (1.0, 2.0, 9.0), strict=False):
        record(folder, plan, key, wall_s)
    estimate = Estimate.of(study, plan_study(study, folder), folder)
    # One job of rotor is left, 2 s as the middle one of three; revolve has four, and no records.
    assert estimate == Estimate(known=1, expected_s=2.0 + 4 * 60.0, at_limits_s=5 * 60.0)
