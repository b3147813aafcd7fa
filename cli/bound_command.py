"""`jettison bound`: the best proven lower bound, and a verdict on somebody's schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import (
    AlphaOption,
    BandwidthOption,
    GapOption,
    InstanceName,
    JsonOption,
    MemoryOption,
    MethodOption,
    ModelsOption,
    ProblemName,
    SeedOption,
    ThreadsOption,
    TimeLimitOption,
    TransfersOption,
    checked_picture,
)
from jettison.cli.describe import Rows, duration, limit_rows, overhead_rows, problem_rows, size
from jettison.cli.exit_status import ExitStatus
from jettison.cli.output import ProgressLine, print_json, print_pairs
from jettison.cli.posed_problem import make_problem
from jettison.cli.replay_picture import draw_replay
from jettison.schedules.schedule_file import load_schedule
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.posed_problem import Resources
from jettison.solvers.solve import Verdict, bound_with


def bound(
    problem: ProblemName,
    instance: InstanceName,
    memory: MemoryOption = None,
    alpha: AlphaOption = None,
    bandwidth: BandwidthOption = None,
    transfers: TransfersOption = None,
    models: ModelsOption = None,
    schedule: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A schedule to judge (see `jettison solve --output`)."),
    ] = None,
    method: MethodOption = None,
    time_limit: TimeLimitOption = 60.0,
    gap: GapOption = 1e-4,
    threads: ThreadsOption = 1,
    seed: SeedOption = 0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the schedule's memory over time."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Bound the best possible time, and judge a schedule.

    A schedule that breaks a rule ends with status 2, and every broken rule is named.
    """
    posed = make_problem(problem, instance, Resources(memory, alpha, bandwidth, transfers, models))
    checked_picture(plot)
    given = None if schedule is None else load_schedule(schedule, posed.instance)
    line = ProgressLine(f"bound on {posed.instance.name}")
    options = SolveOptions(
        time_limit_s=time_limit, gap=gap, threads=threads, seed=seed, on_progress=line
    )
    try:
        verdict = bound_with(posed, given, method, options)
    finally:
        line.close()
    if plot is not None and verdict.replay is not None:
        from jettison.schedules.picture_file import save_figure

        title = f"{posed.instance.name}: {schedule.name if schedule else ''}"
        save_figure(draw_replay(verdict.replay, title=title), plot)
    if json:
        print_json(verdict.to_json())
    else:
        print_pairs(_describe(verdict))
    raise typer.Exit(_exit_status(verdict))


def _exit_status(verdict: Verdict) -> ExitStatus:
    if verdict.replay is not None and not verdict.replay.valid:
        return ExitStatus.BAD_INPUT
    if verdict.infeasible is not None and verdict.replay is None:
        return ExitStatus.INFEASIBLE
    return ExitStatus.DONE


def _describe(verdict: Verdict) -> Rows:
    rows = problem_rows(verdict.problem)
    rows.append(("status", verdict.status))
    replay = verdict.replay
    if replay is not None:
        rows += [
            ("time", duration(verdict.problem, replay.time_ns)),
            ("peak", size(replay.peak_bytes)),
            ("class", str(replay.schedule_class)),
        ]
        rows += overhead_rows(verdict.problem, replay)
        rows += [("broken rule", str(violation)) for violation in replay.violations]
    infeasible = verdict.infeasible
    proof = None if infeasible is None else infeasible.infeasibility
    rows += limit_rows(proof, verdict.bound, verdict.gap)
    rows.append(("seconds", f"{verdict.seconds:.3f}"))
    return rows
