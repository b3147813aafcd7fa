"""`jettison compare`: every method of a problem, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from jettison.cli.arguments import JsonOption, checked_picture
from jettison.cli.compare.grouped_tables import print_grouped_tables
from jettison.cli.compare.wide_table import print_wide_table
from jettison.cli.exit_status import ExitStatus
from jettison.cli.option_groups import ProblemOptions, SearchOptions, with_groups
from jettison.cli.output import ProgressLine, print_json
from jettison.cli.params_file import read_params
from jettison.cli.posed_problem import make_problem
from jettison.cli.search_log import RunLogs
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.certified import empty_classes, refutation, with_certified_bounds
from jettison.solvers.core.registry import find_method, methods_of
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import compare_all
from jettison.solvers.core.status import Termination


@dataclass(frozen=True, kw_only=True)
class _Lists(ProblemOptions):
    """A problem in several memories and over several links."""

    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="One or more memory sizes, such as 30%,50%,4GiB."),
    ] = None
    alpha: Annotated[
        str | None,
        typer.Option(metavar="RATIOS", help="In place of --memory: one or more, such as 0.1,0.2."),
    ] = None
    bandwidth: Annotated[
        str | None,
        typer.Option(
            metavar="RATES", help="One or more bandwidths of the link, such as 12GB/s,24GB/s."
        ),
    ] = None


@with_groups
def compare(
    asked: _Lists,
    limits: SearchOptions,
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Names separated by commas; all methods by default."),
    ] = None,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Certify the best bound of each memory, and show it beside the bounds of the "
            "methods. Each search for a certificate has as much time as a method.",
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw time against memory (.png, .svg, .pdf)."),
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="One table, with the bound of each row and its class.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run every method, side by side.

    Each row is judged against the best bound that any method proved in its memory for the class of
    its schedule. A gap is the share of the overhead that is not proved necessary.

    Example: jettison compare remat-chain opt-350m-b4-a100-40 --memory 20%,30%,50% --plot curve.png
    """
    problem, bandwidth = asked.problem, asked.bandwidth
    problems = [make_problem(problem, asked.instance, one) for one in asked.resources().each()]
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    for name in names or []:
        find_method(problem, name)
    checked_picture(plot)
    if plot is not None and bandwidth is not None and "," in bandwidth:
        raise InputError(
            f"the picture is for one bandwidth, not for {bandwidth}",
            field="bandwidth",
            expected="leave out --plot, or give one bandwidth",
        )
    chosen = names or [item.name for item in methods_of(problem)]
    tuning = read_params(limits.params, problem, chosen)
    line = ProgressLine(f"{problem} {problems[0].instance.name}")
    options = limits.limits(on_progress=line)
    try:
        results = compare_all(problems, names, options, tuning, RunLogs() if limits.log else None)
        if certify:
            results = with_certified_bounds(results, options)
    finally:
        line.close()
    if plot is not None:
        from jettison.schedules.core.picture_file import save_figure
        from jettison.studies.comparison.plot import plot_compare

        save_figure(plot_compare(results), plot)
    columns = [[result for result in results if result.problem == one] for one in problems]
    if json:
        print_json({"results": [result.to_json() for result in results]})
    else:
        if wide:
            print_wide_table(results, with_certified=certify)
        else:
            print_grouped_tables([column for column in columns if column], with_certified=certify)
        for column in columns:
            _print_empty_classes(column)
        _print_not_applicable(results)
    nothing_fits = all(result.schedule is None for result in results)
    if nothing_fits and all(refutation(column) for column in columns):
        raise typer.Exit(ExitStatus.INFEASIBLE)
    if nothing_fits and any(result.infeasibility is not None for result in results):
        raise typer.Exit(ExitStatus.NO_SCHEDULE)
    if any(result.termination is Termination.INTERRUPTED for result in results) or (
        len(results) < len(problems) * len(chosen)
    ):
        raise typer.Exit(ExitStatus.NO_SCHEDULE if nothing_fits else ExitStatus.LIMIT_WITH_SCHEDULE)
    raise typer.Exit(ExitStatus.DONE)


def _print_empty_classes(column: list[Result]) -> None:
    """Say of which class nothing fits, where no method has a schedule of any class."""
    if any(result.schedule is not None for result in column):
        return
    for proof in empty_classes(column):
        if proof.valid_for is not ScheduleClass.ALL:
            memory = format_bytes(column[0].problem.memory_bytes)
            typer.echo(f"in {memory} nothing fits of the class {proof.valid_for}; others may")


def _print_not_applicable(results: list[Result]) -> None:
    """Say why methods do not apply to the instance, once for all that have the same reason."""
    lacking: dict[str, list[str]] = {}
    for result in results:
        if result.termination is Termination.NOT_APPLICABLE:
            # A reason may begin with the method that it is about.
            same = (result.note or "").removeprefix(f"{result.method} ")
            names = lacking.setdefault(same, [])
            if result.method not in names:
                names.append(result.method)
    for reason, names in lacking.items():
        typer.echo()
        typer.echo(fill(f"not applicable: {', '.join(names)}: {reason}", 80))
