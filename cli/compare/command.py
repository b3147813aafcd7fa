"""`jettison compare`: every method of a problem, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import JsonOption, checked_picture
from jettison.cli.exit_status import ExitStatus
from jettison.cli.option_groups import ProblemOptions, SearchOptions, with_groups
from jettison.cli.output import ProgressLine, percent, print_json, print_table
from jettison.cli.params_file import read_params
from jettison.cli.posed_problem import make_problem
from jettison.cli.search_log import RunLogs
from jettison.instances.core.card import as_card
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes, format_ns
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.certified import empty_classes, refutation, with_certified_bounds
from jettison.solvers.core.registry import find_method, kind_of, methods_of
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import compare_all
from jettison.solvers.core.status import Termination

# Methods side by side differ in the later digits.
_DIGITS = 5


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
            "methods. The search for each certificate has the time limit of a method for itself.",
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw time against memory (.png, .svg, .pdf)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run every method, side by side.

    Each row is judged against the best bound that any method proved in its memory.

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
        from jettison.cli.compare.picture import plot_compare
        from jettison.schedules.core.picture_file import save_figure

        save_figure(plot_compare(results), plot)
    columns = [[result for result in results if result.problem == one] for one in problems]
    if json:
        print_json({"results": [result.to_json() for result in results]})
    else:
        _print(results, with_certified=certify)
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


def _print(results: list[Result], *, with_certified: bool) -> None:
    first = results[0].problem
    has_link = first.link is not None
    has_card = any(as_card(result.problem.memory) is not None for result in results)
    states_gap_of_step = kind_of(first).states_gap_of_step
    # Beside a bound for a class of schedules the bound for all schedules is shown as well.
    has_classes = any(
        result.bound is not None and result.bound.valid_for is not ScheduleClass.ALL
        for result in results
    )
    rows = [
        [
            *_memory(result, has_card=has_card),
            format_bytes(result.problem.memory_bytes),
            *([f"{result.problem.link}"] if has_link else []),
            result.method,
            "-" if result.time_ns is None else format_ns(result.time_ns, _DIGITS),
            _overhead(result),
            "-" if result.peak_bytes is None else format_bytes(result.peak_bytes),
            *([_of_card(result)] if has_card else []),
            "-" if result.lower_bound_ns is None else format_ns(result.lower_bound_ns, _DIGITS),
            "-" if result.bound is None else str(result.bound.valid_for),
            *([_of_all(result)] if has_classes else []),
            *([_certified(result)] if with_certified else []),
            *([percent(result.gap_of_step)] if states_gap_of_step else []),
            percent(result.gap),
            result.status,
            f"{result.seconds:.2f}",
        ]
        for result in results
    ]
    columns = [
        *(["card", " resident"] if has_card else ["memory"]),
        " bytes",
        *(["link"] if has_link else []),
        "method",
        " time",
        " overhead",
        " peak",
        *([" of the card"] if has_card else []),
        " bound",
        "valid for",
        *([" all schedules"] if has_classes else []),
        *([" certified"] if with_certified else []),
        *([" gap of step"] if states_gap_of_step else []),
        " gap",
        "status",
        " seconds",
    ]
    reference = kind_of(first).reference(first)
    base = format_ns(reference.time_ns, _DIGITS)
    title = f"{first.problem} {first.instance.name}, {base} without {reference.without}"
    print_table(columns, rows, title=title)


def _print_empty_classes(column: list[Result]) -> None:
    """Say of which class nothing fits, where no method has a schedule of any class."""
    if any(result.schedule is not None for result in column):
        return
    for proof in empty_classes(column):
        if proof.valid_for is not ScheduleClass.ALL:
            memory = format_bytes(column[0].problem.memory_bytes)
            typer.echo(f"in {memory} nothing fits of the class {proof.valid_for}; others may")


def _print_not_applicable(results: list[Result]) -> None:
    """Say once of each method that does not apply to the instance what the instance lacks."""
    reasons = {
        result.method: result.note
        for result in results
        if result.termination is Termination.NOT_APPLICABLE
    }
    for method, reason in reasons.items():
        typer.echo(f"{method} does not apply: {reason}")


def _memory(result: Result, *, has_card: bool) -> list[str]:
    """Write the memory as it was given: a card and what is resident on it have a cell each."""
    card = as_card(result.problem.memory)
    if card is not None:
        name = card.name or format_bytes(card.card_bytes)
        return [name, format_bytes(card.resident_bytes)]
    given = f"{result.problem.memory or 'of the instance'}"
    return [given, "-"] if has_card else [given]


def _of_card(result: Result) -> str:
    """Write the peak of a schedule on its card, or the least card where nothing fits."""
    card, proof = as_card(result.problem.memory), result.infeasibility
    if card is None:
        return "-"
    if result.peak_bytes is not None:
        return format_bytes(card.with_plan(result.peak_bytes))
    if proof is None or proof.least_memory_bytes is None:
        return "-"
    return f">= {format_bytes(card.with_plan(proof.least_memory_bytes))}"


def _of_all(result: Result) -> str:
    """Write the bound for all schedules."""
    bound = result.bound_of_all
    return "-" if bound is None else format_ns(bound.time_ns, _DIGITS)


def _certified(result: Result) -> str:
    """Write the bound that a checked certificate proves for a result."""
    refuted = result.infeasibility
    if refuted is not None:
        return "infeasible" if refuted.evidence is Evidence.CERTIFICATE else "-"
    bound = result.certified_bound
    if bound is None:
        return "-"
    # The class of schedules is that of the column before, unless it is named.
    same = result.bound is not None and result.bound.valid_for is bound.valid_for
    suffix = "" if same else f" ({bound.valid_for})"
    return f"{format_ns(bound.time_ns, _DIGITS)}{suffix}"


def _overhead(result: Result) -> str:
    base_ns = kind_of(result.problem).reference(result.problem).time_ns
    if result.time_ns is None or base_ns == 0:
        return "-"
    return percent(result.time_ns / base_ns - 1)
