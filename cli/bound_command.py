"""`jettison bound`: the best proven lower bound, and a verdict on a given schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import JsonOption, MethodOption, checked_picture
from jettison.cli.certificate_output import (
    certificate_keys,
    certificate_rows,
    check_certificate_option,
    write_certificate,
)
from jettison.cli.exit_status import ExitStatus
from jettison.cli.option_groups import ProblemOptions, SearchOptions, with_groups
from jettison.cli.output import ProgressLine, print_json, print_pairs
from jettison.cli.params_file import read_params
from jettison.instances.core.errors import InputError
from jettison.schedules.core.schedule_file import load_schedule
from jettison.solvers.core.answers.summary import verdict_rows
from jettison.solvers.core.method import Promise
from jettison.solvers.core.registry import kind_of, methods_of
from jettison.solvers.core.solve import bound_with
from jettison.solvers.core.verdict import Verdict


@with_groups
def bound(
    asked: ProblemOptions,
    search: SearchOptions,
    schedule: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A schedule to judge (see `jettison solve --output`)."),
    ] = None,
    method: MethodOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the schedule's memory over time."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a proof of the bound that `jettison verify` checks in exact integers; "
            "compressed if the name ends in .gz. The search for it has a time limit of its own, as "
            "long as that of a method; if it ends before the whole bound is proved, the largest "
            "bound that was proved is written.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Bound the best possible time, and judge a schedule.

    For a schedule that breaks rules the exit status is 2, and every broken rule is named. If no
    bound could be certified, no file is written, and the status is 5, or 3 if nothing fits.

    Example: jettison bound remat-chain opt-350m-b4-a100-40 --memory 30% --certificate c.gz
    """
    posed = asked.posed()
    checked_picture(plot)
    if plot is not None and schedule is None:
        raise InputError(
            f"{plot} would show the memory of a schedule, and none is given",
            field="plot",
            expected="add --schedule FILE, or leave it out",
        )
    if certificate is not None:
        check_certificate_option(asked.problem, certificate)
    given = None if schedule is None else load_schedule(schedule, posed.instance)
    proving = [item.name for item in methods_of(asked.problem) if item.promise != Promise.HEURISTIC]
    tuning = read_params(search.params, asked.problem, proving if method is None else [method])
    line = ProgressLine(f"bound on {posed.instance.name}")
    options = search.followed(posed, line, on_schedule=None)
    try:
        verdict = bound_with(posed, given, method, options, tuning)
        if certificate is not None:
            verdict = verdict.certified(options)
    finally:
        line.close()
    written = None
    if certificate is not None and verdict.certificate is not None:
        written = write_certificate(verdict.certificate, certificate)
    if plot is not None and verdict.replay is not None:
        from jettison.schedules.core.picture_file import save_figure

        title = f"{posed.instance.name}: {schedule.name if schedule else ''}"
        save_figure(kind_of(verdict.problem).picture(verdict.replay, title), plot)
    if json:
        keys = {} if certificate is None else certificate_keys(written)
        print_json({**verdict.to_json(), **keys})
    else:
        rows = verdict_rows(verdict)
        if certificate is not None:
            rows[-1:-1] = certificate_rows(verdict, written)
        print_pairs(rows)
    status = _exit_status(verdict)
    if status is ExitStatus.DONE and certificate is not None and written is None:
        status = ExitStatus.NO_SCHEDULE
    raise typer.Exit(status)


def _exit_status(verdict: Verdict) -> ExitStatus:
    if verdict.replay is not None and not verdict.replay.valid:
        return ExitStatus.BAD_INPUT
    if verdict.infeasible is not None and verdict.replay is None:
        return ExitStatus.INFEASIBLE
    return ExitStatus.DONE
