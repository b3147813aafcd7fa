"""The table of `jettison compare --wide`: all that there is to say of a run, in one row."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.cli.compare.cells import (
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
from jettison.solvers.core.registry import kind_of
from jettison.solvers.core.result import Result


def print_wide_table(results: Sequence[Result], *, with_certified: bool) -> None:
    """Print one table of all methods in all memories, as wide as it needs to be."""
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
            nanoseconds(result.time_ns),
            overhead(result),
            peak(result),
            *([peak_on_card(result)] if has_card else []),
            nanoseconds(result.lower_bound_ns),
            "-" if result.bound is None else str(result.bound.valid_for),
            *([_of_all(result)] if has_classes else []),
            *([certified(result)] if with_certified else []),
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
        *([" on the card"] if has_card else []),
        " bound",
        "valid for",
        *([" all schedules"] if has_classes else []),
        *([" certified"] if with_certified else []),
        *([" gap of step"] if states_gap_of_step else []),
        " gap",
        "status",
        " seconds",
    ]
    print_table(columns, rows, title=title_of(results[0]), is_wide=True)


def _memory(result: Result, *, has_card: bool) -> list[str]:
    """Write the memory as it was given: a card and what is resident on it have a cell each."""
    card = as_card(result.problem.memory)
    if card is not None:
        name = card.name or format_bytes(card.card_bytes)
        return [name, format_bytes(card.resident_bytes)]
    given = f"{result.problem.memory or 'of the instance'}"
    return [given, "-"] if has_card else [given]


def _of_all(result: Result) -> str:
    """Write the bound for all schedules."""
    bound = result.bound_of_all
    return "-" if bound is None else nanoseconds(bound.time_ns)
