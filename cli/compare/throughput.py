"""`jettison throughput`: the batch size at which a model trains fastest in a memory."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from jettison.cli.arguments import JsonOption, MethodOption, ProblemName
from jettison.cli.exit_status import ExitStatus
from jettison.cli.option_groups import ResourceOptions, SearchOptions, with_groups
from jettison.cli.output import ProgressLine, print_json, print_table
from jettison.cli.params_file import read_params
from jettison.cli.posed_problem import make_problem
from jettison.instances.core.units import format_bytes, format_ns, percent
from jettison.solvers.core.registry import find_method
from jettison.studies.batch_series import BatchSeries, BatchThroughput, solve_batches


@with_groups
def throughput(
    problem: ProblemName,
    instances: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCE...",
            help="One model in several batch sizes: names of bundled instances, or files.",
        ),
    ],
    resources: ResourceOptions,
    search: SearchOptions,
    method: MethodOption = None,
    json: JsonOption = False,
) -> None:
    """Find the batch size that trains fastest in a memory.

    The throughput is the samples of a step over its time. Beside that of the best schedule stands
    what no schedule can exceed. The memory is an amount, such as 12GiB.

    Example: jettison throughput remat-chain opt-350m-b1-a100-40 opt-350m-b2-a100-40
    opt-350m-b4-a100-40 opt-350m-b8-a100-40 --memory 12GiB
    """
    problems = [make_problem(problem, instance, resources.resources()) for instance in instances]
    chosen = find_method(problem, method).name
    tuning = read_params(search.params, problem, [chosen])
    line = ProgressLine(f"{problem} {chosen}")
    try:
        series = solve_batches(
            problems, chosen, search.limits(on_progress=line), tuning.get(chosen)
        )
    finally:
        line.close()
    if json:
        print_json(_document(series))
    else:
        _print(series)
    raise typer.Exit(_status(series, len(problems)))


def _document(series: BatchSeries) -> dict[str, object]:
    best = series.best
    return {
        "best_batch": None if best is None else best.batch,
        "settled": series.is_settled,
        "batches": [
            {
                "batch": row.batch,
                "samples_per_s": _number(row.samples_per_s),
                "at_most_samples_per_s": _number(row.at_most_per_s),
                **row.result.to_json(),
            }
            for row in series.rows
        ],
    }


def _print(series: BatchSeries) -> None:
    best = series.best
    columns = [" batch", " samples/s", " at most", " time", " overhead", " peak", "status"]
    rows = [
        [
            f"{row.batch}",
            _rate(row.samples_per_s),
            _rate(row.at_most_per_s),
            "-" if row.result.time_ns is None else format_ns(row.result.time_ns),
            _overhead(row),
            "-" if row.result.peak_bytes is None else format_bytes(row.result.peak_bytes),
            f"{row.result.status}{' <- best' if row is best else ''}",
        ]
        for row in series.rows
    ]
    first = series.rows[0].result
    title = (
        f"{first.problem.problem} by {first.method} in {format_bytes(first.problem.memory_bytes)}"
    )
    print_table(columns, rows, title=title)
    if best is None:
        return
    said = (
        "no other batch can be faster"
        if series.is_settled
        else "another batch may be faster: see its bound"
    )
    typer.echo(f"best: {_rate(best.samples_per_s)} samples/s, batch {best.batch}; {said}")


def _overhead(row: BatchThroughput) -> str:
    time_ns, base_ns = row.result.time_ns, row.result.problem.base_time_ns
    return "-" if time_ns is None or base_ns == 0 else percent(time_ns / base_ns - 1)


def _rate(per_s: Fraction | None) -> str:
    return "-" if per_s is None else f"{float(per_s):.4g}"


def _number(per_s: Fraction | None) -> float | None:
    return None if per_s is None else float(per_s)


def _status(series: BatchSeries, asked: int) -> ExitStatus:
    rows = series.rows
    if len(rows) == asked and all(row.result.infeasibility is not None for row in rows):
        return ExitStatus.INFEASIBLE
    if series.best is None:
        return ExitStatus.NO_SCHEDULE
    return ExitStatus.DONE if series.is_settled else ExitStatus.LIMIT_WITH_SCHEDULE
