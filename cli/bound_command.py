"""`jettison bound`: the best proven lower bound, and a verdict on somebody's schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import (
    GapOption,
    InstanceName,
    JsonOption,
    MemoryOption,
    MethodOption,
    ProblemName,
    SeedOption,
    ThreadsOption,
    TimeLimitOption,
    checked_picture,
    make_problem,
)
from jettison.cli.exit_status import ExitStatus
from jettison.cli.output import ProgressLine, percent, print_json, print_pairs
from jettison.instances.units import format_bytes, format_ns
from jettison.schedules.schedule_file import load_schedule
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.solve import Verdict, bound_with


def bound(
    problem: ProblemName,
    instance: InstanceName,
    memory: MemoryOption,
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
    posed = make_problem(problem, instance, memory)
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
        from jettison.schedules.memory_plot import plot_memory
        from jettison.schedules.picture_file import save_figure

        title = f"{posed.instance.name}: {schedule.name if schedule else ''}"
        save_figure(plot_memory(verdict.replay, title=title), plot)
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


def _describe(verdict: Verdict) -> list[tuple[str, str]]:
    posed = verdict.problem
    rows = [
        ("problem", f"{posed.problem} {posed.instance.name}"),
        ("memory", f"{format_bytes(posed.memory_bytes)} ({posed.memory_bytes} bytes)"),
        ("status", verdict.status),
    ]
    replay = verdict.replay
    if replay is not None:
        rows += [
            ("time", f"{format_ns(replay.time_ns)} ({replay.time_ns} ns)"),
            ("peak", f"{format_bytes(replay.peak_bytes)} ({replay.peak_bytes} bytes)"),
            ("class", str(replay.schedule_class)),
        ]
        rows += [("broken rule", str(violation)) for violation in replay.violations]
    infeasible = verdict.infeasible
    if infeasible is not None and infeasible.infeasibility is not None:
        proof = infeasible.infeasibility
        word = "least memory" if proof.is_exact else "least memory, at least"
        size = f"{format_bytes(proof.least_memory_bytes)} ({proof.least_memory_bytes} bytes)"
        rows.append((word, size))
    elif verdict.bound is not None:
        rows += [
            ("lower bound", f"{format_ns(verdict.bound.time_ns)} ({verdict.bound.time_ns} ns)"),
            ("by", verdict.bound.method),
            ("valid for", f"{verdict.bound.valid_for}, by {verdict.bound.evidence}"),
            ("gap", percent(verdict.gap)),
        ]
    rows.append(("seconds", f"{verdict.seconds:.3f}"))
    return rows
