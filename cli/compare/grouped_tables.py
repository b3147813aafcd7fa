"""Tables of `jettison compare`: one for each memory and link, headed by the bounds that hold there.

They fit a terminal of 80 columns: what is the same for all methods stands once, above them.
"""

from __future__ import annotations

from collections.abc import Sequence

import typer

from jettison.cli.compare.cells import (
    bound_and_class,
    certified,
    nanoseconds,
    overhead,
    peak,
    peak_on_card,
    title_of,
)
from jettison.cli.output import print_table
from jettison.instances.core.card import as_card
from jettison.instances.core.units import format_bytes, percent
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Promise
from jettison.solvers.core.registry import find_method, kind_of
from jettison.solvers.core.result import Result
from jettison.solvers.core.status import Termination


def print_grouped_tables(groups: Sequence[Sequence[Result]], *, with_certified: bool) -> None:
    """Print a table for each problem: its limit and bounds, then a row for each method.

    Parameters
    ----------
    groups
        Results of each problem, none of them empty.
    with_certified
        Whether to print the best bound that a checked certificate proves.
    """
    typer.echo(title_of(groups[0][0]))
    for group in groups:
        typer.echo()
        typer.echo(_limit(group[0]))
        lines = [_bounds(group), _infeasible(group)]
        if with_certified:
            lines.append(_certified(group))
        for line in filter(None, lines):
            typer.echo(line)
        _print_table(group)


def _limit(result: Result) -> str:
    """Write memory and link: as they were given, and what they come to."""
    problem = result.problem
    card, planned = as_card(problem.memory), format_bytes(problem.memory_bytes)
    if card is not None:
        name = f"{card.name}, " if card.name else ""
        limit = (
            f"card {name}{format_bytes(card.card_bytes)} less "
            f"{format_bytes(card.resident_bytes)} resident: {planned}"
        )
    elif problem.memory is None:
        limit = f"memory of the instance: {planned}"
    else:
        given = f"{problem.memory}"
        limit = f"memory {given}" if given == planned else f"memory {given}: {planned}"
    return limit if problem.link is None else f"{limit}, link {problem.link}"


def _bounds(group: Sequence[Result]) -> str:
    """Write the best bound of each class that a schedule is judged by, that of all last."""
    found: dict[ScheduleClass, Bound] = {}
    for result in group:
        for bound in (result.bound, result.bound_of_all):
            if bound is not None:
                known = found.get(bound.valid_for)
                if known is None or known.time_ns < bound.time_ns:
                    found[bound.valid_for] = bound
    last_is_all = sorted(found.values(), key=lambda bound: bound.valid_for is ScheduleClass.ALL)
    return f"at least {', '.join(map(bound_and_class, last_is_all))}" if found else ""


def _infeasible(group: Sequence[Result]) -> str:
    """Write of which class nothing fits, and the least memory that would do where it is known."""
    if any(result.schedule is not None for result in group):
        return ""
    for result in group:
        proof = result.infeasibility
        if proof is not None and proof.valid_for is ScheduleClass.ALL:
            if proof.least_memory_bytes is None:
                return "nothing fits"
            return f"nothing fits: {format_bytes(proof.least_memory_bytes)} are needed"
    return ""


def _certified(group: Sequence[Result]) -> str:
    """Write each bound that a certificate proves, or that none does."""
    found = dict.fromkeys(text for text in map(certified, group) if text != "-")
    return f"certified: {', '.join(found) or 'nothing'}"


def _print_table(group: Sequence[Result]) -> None:
    kind = kind_of(group[0].problem)
    has_card = as_card(group[0].problem.memory) is not None
    columns = [
        "method",
        " time",
        " overhead",
        " card peak" if has_card else " peak",
        " step gap" if kind.states_gap_of_step else " gap",
        "status",
        " took",
    ]
    rows = [
        [
            result.method,
            _time(result),
            overhead(result),
            peak_on_card(result) if has_card else peak(result),
            percent(result.gap_of_step if kind.states_gap_of_step else result.gap),
            _status(result),
            f"{result.seconds:.2f} s",
        ]
        for result in group
        if result.termination is not Termination.NOT_APPLICABLE
    ]
    if rows:
        print_table(columns, rows)


def _time(result: Result) -> str:
    """Write the time of the schedule, or the bound of a method that only bounds."""
    method = find_method(result.problem.problem, result.method)
    if method.promise is Promise.BOUND and result.lower_bound_ns is not None:
        return f"≥ {nanoseconds(result.lower_bound_ns)}"
    return nanoseconds(result.time_ns)


def _status(result: Result) -> str:
    """Write the status; a line may end before its class of schedules."""
    answer = f"{result.answer}"
    if result.status.startswith(f"{answer}-"):
        return f"{answer} {result.status.removeprefix(f'{answer}-')}"
    return result.status
