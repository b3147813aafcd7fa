"""`jettison sweep`: all solves of a study, in child processes, with results kept in a folder."""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import JsonOption
from jettison.cli.exit_status import ExitStatus
from jettison.cli.output import print_json, print_pairs
from jettison.cli.sweep.progress import SweepProgress
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import percent
from jettison.studies.estimate import Estimate
from jettison.studies.gap_summary import GapSummary
from jettison.studies.pools import Pool, dask_pool, local_pool
from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import Plan, Sweep, SweepState, plan_study


def sweep(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study to run.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder of the results, those of earlier runs included; by default a folder named "
            "after the study, beside it.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Jobs at a time on this machine; one per core by default."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Dask cluster instead: the address of its scheduler, tcp://HOST:8786. "
            "Its workers must see the results folder under the same path.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed jobs of earlier runs again.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and an estimate, and run nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run all solves of a study.

    Each job runs in a process of its own with hard limits, and its result is one file. A sweep that
    was stopped or killed goes on where it was when it is started again, and several sweeps may work
    on one folder. A record, schedule or instance that a disk has damaged is set aside and made
    again. Failures are recorded with their reason and do not stop the rest.

    Exit status: 0 if every job has a result, 4 if some failed, 5 if all did.

    Example: jettison sweep examples/studies/memory_and_time.toml -o results
    """
    if sys.platform == "win32":
        raise InputError(
            "a sweep on Windows",
            field="sweep",
            expected="run it on Linux or macOS: Windows cannot limit the processes of jobs",
        )
    if workers is not None and scheduler is not None:
        raise InputError(
            "a cluster has its own number of workers",
            field="workers",
            expected="leave out --workers, or --scheduler",
        )
    declared = Study.from_toml(study)
    folder = ResultFolder(study.with_suffix("") if output is None else output)
    opened: AbstractContextManager[Pool] = (
        local_pool(workers) if scheduler is None else dask_pool(scheduler)
    )
    if dry_run:
        plan = plan_study(declared, folder, repeats_failures=retry_failed)
        with opened as pool:
            _print_plan(declared, plan, folder, pool.workers, as_json=json)
        return
    folder.create()
    folder.keep_study(study)
    plan = plan_study(declared, folder, repeats_failures=retry_failed)
    for cell, error in plan.refused:
        sys.stderr.write(f"left out: {cell.problem} {cell.instance}: {error}\n")
    with opened as pool, SweepProgress(declared.name) as progress:
        running = Sweep(declared, plan, folder, pool, progress)
        try:
            state = running.run()
        except KeyboardInterrupt:
            progress.close()
            reached = running.state.done + running.state.failed
            sys.stderr.write(f"{reached} of {running.state.total} jobs have a record; ")
            sys.stderr.write("the same command goes on with the rest\n")
            raise
    for fault in state.set_aside:
        sys.stderr.write(f"set aside in {folder.path / 'damaged'}, and made again: {fault}\n")
    _print_state(declared, plan, folder, state, as_json=json)
    if state.failed:
        raise typer.Exit(ExitStatus.LIMIT_WITH_SCHEDULE if state.done else ExitStatus.NO_SCHEDULE)


def _print_plan(
    study: Study, plan: Plan, folder: ResultFolder, workers: int, *, as_json: bool
) -> None:
    missing = [plan.jobs[key] for key in plan.missing]
    estimate = Estimate.of(study, plan, folder)
    document: dict[str, object] = {
        "study": study.name,
        "jobs": len(plan.jobs),
        "present": len(plan.present),
        "to_run": len(missing),
        "left_out": len(plan.refused),
        "workers": workers,
        "expected_s": None if estimate.expected_s is None else math.ceil(estimate.expected_s),
        "at_limits_s": math.ceil(estimate.at_limits_s),
        "plan": [job.label for job in missing],
    }
    if as_json:
        print_json(document)
        return
    for job in missing:
        sys.stdout.write(f"{job.label}, at most {job.time_limit_s:g} s, seed {job.seed}\n")
    for cell, error in plan.refused:
        sys.stdout.write(f"left out: {cell.problem} {cell.instance}: {error}\n")
    for fault in plan.damaged.values():
        sys.stdout.write(f"to be set aside, and made again: {fault}\n")
    print_pairs(
        [
            ("study", study.name),
            ("jobs", f"{len(plan.jobs)}, of which {len(plan.present)} have results"),
            ("to run", f"{len(missing)}"),
            ("estimate", _worded(estimate, len(missing), workers)),
        ]
    )


def _worded(estimate: Estimate, count: int, workers: int) -> str:
    if not count:
        return "nothing is left to do"
    most = f"at most {estimate.at_limits_s / workers:.0f} s on {workers} workers, by time limits"
    if estimate.expected_s is None:
        return f"{most}; methods that finish sooner take less"
    known = f"{estimate.known} of {count} jobs have a method with records"
    return f"{estimate.expected_s / workers:.0f} s ({known}), {most}"


def _infeasible(summary: GapSummary) -> str:
    """Count the proofs that nothing fits, each for its class of schedules."""
    if not summary.infeasible:
        return "none proved"
    counts = sorted(summary.infeasible.items())
    return "proved: " + ", ".join(f"{count} for {valid_for}" for valid_for, count in counts)


def _print_state(
    study: Study, plan: Plan, folder: ResultFolder, state: SweepState, *, as_json: bool
) -> None:
    summary = GapSummary.of(folder, plan.jobs)
    if as_json:
        print_json(
            {
                "study": study.name,
                "folder": str(folder.path),
                "jobs": state.total,
                "done": state.done,
                "failed": state.failed,
                "left_out": len(plan.refused),
                "set_aside": [str(fault) for fault in state.set_aside],
                "infeasible": dict(summary.infeasible),
                "not_applicable": summary.not_applicable,
                "not_found": summary.not_found,
                "unknown": summary.unknown,
                "median_gap": summary.median,
                "failures": dict(summary.failures),
            }
        )
        return
    print_pairs(
        [
            ("study", study.name),
            ("results", str(folder.path)),
            ("jobs", f"{state.total}: {state.done} done, {state.failed} failed"),
            ("schedules", f"{summary.schedules}, {summary.optimal} of them meet their bound"),
            ("infeasible", _infeasible(summary)),
            (
                "no answer",
                f"{summary.not_applicable} not applicable, {summary.not_found} not found, "
                f"{summary.unknown} at a limit",
            ),
            ("gap", f"median {percent(summary.median)}, largest {percent(summary.largest)}"),
            *((f"failed {count} x", reason) for reason, count in summary.failures.items()),
        ]
    )
