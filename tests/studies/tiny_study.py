"""A study that takes a moment: a chain of eight layers, and what a sweep left of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from jettison.instances.catalog import save
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.resources import Resources
from jettison.studies.job import Job, present_versions
from jettison.studies.pools import local_pool
from jettison.studies.result_folder import ResultFolder
from jettison.studies.run_job import Request
from jettison.studies.study import Cell, Study
from jettison.studies.sweep import Sweep, SweepState, plan_study

STUDY = """
[[grid]]
problem = "remat-chain"
instances = "chain.json"
memory = ["{memory}"]
methods = [{methods}]
seeds = [{seeds}]
"""


def small_chain() -> Chain:
    layers = [
        Stage(
            name=f"layer{k}", forward_ns=10 + k, backward_ns=20, output_bytes=100, saved_bytes=300
        )
        for k in range(8)
    ]
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
    return Chain("small", 50, (*layers, loss))


def write_study(
    folder: Path,
    *,
    memory: str = "50%",
    methods: tuple[str, ...] = ("rotor",),
    seeds: int = 1,
    head: str = "",
) -> Path:
    """Write the chain, and a study of one job for each method and seed."""
    save(small_chain(), folder / "chain.json")
    text = STUDY.format(
        memory=memory,
        methods=", ".join(f'"{method}"' for method in methods),
        seeds=", ".join(str(seed) for seed in range(seeds)),
    )
    path = folder / "study.toml"
    path.write_text(head + text)
    return path


def swept(path: Path, results: Path, *, repeats_failures: bool = False) -> SweepState:
    """Run what the study has not run yet, two jobs at a time."""
    study, folder = Study.from_toml(path), ResultFolder(results)
    folder.create()
    plan = plan_study(study, folder, repeats_failures=repeats_failures)
    with local_pool(2) as pool:
        return Sweep(study, plan, folder, pool).run()


def copied(swept_once: Path, folder: Path) -> ResultFolder:
    """Copy a study and its results into the folder of a test."""
    shutil.copytree(swept_once, folder, dirs_exist_ok=True)
    return ResultFolder(folder / "results")


def swept_again(folder: Path) -> SweepState:
    """Run the study of a folder into its results once more."""
    return swept(folder / "study.toml", folder / "results")


def job_of(method: str = "rotor", memory: str = "50%", seed: int = 0) -> Job:
    cell = Cell(
        problem="remat-chain",
        instance="small",
        resources=Resources(memory),
        method=method,
        options=SolveOptions(seed=seed),
    )
    return Job.of(cell, small_chain(), present_versions())


def request_of(
    job: Job,
    folder: Path,
    *,
    sweep: str = "test",
    wall_limit_s: float = 60.0,
    memory_limit_bytes: int | None = None,
) -> Request:
    results = ResultFolder(folder)
    results.create()
    results.add_instance(small_chain())
    return Request(sweep, job.to_json(), str(folder), wall_limit_s, memory_limit_bytes)


def answers(folder: Path) -> dict[str, Any]:
    """Return what each job found, without what differs between two runs; schedules to the byte."""
    found: dict[str, Any] = {}
    for record in ResultFolder(folder).survey().records.values():
        result = {
            key: value
            for key, value in record["result"].items()
            if key not in {"seconds", "work", "note"}
        }
        schedule = ResultFolder(folder).schedule_path(record["key"])
        text = json.loads(schedule.read_text()) if schedule.exists() else None
        found[record["key"]] = {
            "state": record["state"],
            **result,
            "bounds": record["bounds"],
            "schedule": text,
        }
    return found


def differences(one: Path, other: Path) -> list[str]:
    """Say of each job of two folders what it did not find alike, and which job it is."""
    found, again = answers(one), answers(other)
    if found.keys() != again.keys():
        return [f"only in one folder: {key}" for key in found.keys() ^ again.keys()]
    said = []
    for key, first in found.items():
        job = ResultFolder(one).record(key)["job"]
        name = " ".join(str(job[field]) for field in ("instance", "method", "resources"))
        for part in first:
            a, b = first[part], again[key][part]
            if a != b:
                said.append(f"{name}: {part} is {a!s:.300} and {b!s:.300}")
    return said


def unfinished(folder: Path) -> list[Path]:
    """Return files that nobody finished writing."""
    return [path for path in folder.rglob("*") if path.name.startswith(".")]
