"""`jettison solve`: one method on one problem."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import JsonOption, MethodOption, checked_output, checked_picture
from jettison.cli.exit_status import status_of
from jettison.cli.option_groups import ProblemOptions, SearchOptions, with_groups
from jettison.cli.output import ProgressLine, print_json, print_pairs, print_table
from jettison.cli.params_file import read_params
from jettison.instances.core.atomic_file import replacing
from jettison.instances.core.errors import InputError
from jettison.schedules.core.csv_text import csv_text
from jettison.schedules.core.schedule_file import load_schedule, save_schedule
from jettison.solvers.core.answers.summary import picture_title, result_rows
from jettison.solvers.core.method import Promise
from jettison.solvers.core.registry import PROBLEM_KINDS, find_method, kind_of
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with


@with_groups
def solve(
    given: ProblemOptions,
    search: SearchOptions,
    method: MethodOption = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A schedule to begin from (see --output); the answer is no slower.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Save the schedule as JSON."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw memory and transfers (.png, .svg, .pdf)."),
    ] = None,
    grid: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw which nodes are recomputed in which stage; for a sharded graph, how "
            "operators are sharded and where the time goes; for an arena, the address of each "
            "buffer (.png, .svg, .pdf).",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A row for each operator of a sharded graph, each stage of a chain in one budget, "
            "each device of a pipeline, or each buffer of an arena (.csv).",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find a fast schedule, with a proven lower bound.

    Example: jettison solve remat-chain opt-350m-b4-a100-40 --memory 30%
    """
    posed = given.posed()
    chosen = find_method(posed.problem, method)
    for picture in (plot, grid):
        checked_picture(picture)
    kind = kind_of(posed)
    if grid is not None and kind.grid is None:
        raise InputError(
            f"{given.problem} has no grid of recomputations",
            field="grid",
            expected="leave it out, or use --plot, which shows the memory in time",
        )
    if table is not None and kind.table is None:
        having = " or ".join(other.name for other in PROBLEM_KINDS if other.table is not None)
        raise InputError(
            f"{given.problem} has no table of operators",
            field="table",
            expected=f"leave it out, or use {having}",
        )
    checked_output(output)
    checked_output(table)
    wanted = {"output": output, "plot": plot, "grid": grid, "table": table}
    if chosen.promise is Promise.BOUND:
        _refuse_without_schedules(chosen.name, wanted)
    params = read_params(search.params, given.problem, [chosen.name])
    begin = None if start is None else load_schedule(start, posed.instance)
    line = ProgressLine(f"{chosen.name} on {posed.instance.name}")
    options = search.followed(posed, line, start=begin)
    try:
        result = solve_with(posed, chosen.name, options, params.get(chosen.name))
    finally:
        line.close()
    if result.schedule is not None:
        if output is not None:
            save_schedule(result.schedule, posed.instance, output, result.claim)
        _draw(result, plot, grid)
        if table is not None:
            _write_table(result, table)
    else:
        for path in filter(None, wanted.values()):
            sys.stderr.write(f"note: {path} is not written: there is no schedule\n")
    if json:
        print_json(result.to_json())
    else:
        print_pairs(result_rows(result))
        if kind.printed is not None and result.replay is not None:
            sys.stdout.write("\n")
            print_table(*kind.printed(result.replay))
    raise typer.Exit(status_of(result, wants_schedule=chosen.promise is not Promise.BOUND))


def _refuse_without_schedules(method: str, wanted: Mapping[str, Path | None]) -> None:
    """Refuse output files for a schedule from a method that makes none.

    Raises
    ------
    InputError
        If such a file is wanted.
    """
    for field, path in wanted.items():
        if path is not None:
            raise InputError(
                f"{method} proves a bound and makes no schedule for {path}",
                field=field,
                expected="leave it out, or choose a method that makes schedules",
            )


def _write_table(result: Result, path: Path) -> None:
    make = kind_of(result.problem).table
    assert make is not None
    text = csv_text(make(result.problem, result.schedule), with_index=False)
    with replacing(path) as stream:
        stream.write(text.encode())


def _draw(result: Result, plot: Path | None, grid: Path | None) -> None:
    if plot is None and grid is None:
        return
    from jettison.schedules.core.picture_file import save_figure

    title = picture_title(result)
    if plot is not None and result.replay is not None:
        save_figure(kind_of(result.problem).picture(result.replay, title), plot)
    draw = kind_of(result.problem).grid
    if grid is not None and draw is not None:
        save_figure(draw(result.problem, result.schedule, title), grid)
