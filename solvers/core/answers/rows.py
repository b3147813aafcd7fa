"""Rows of a printed answer, in the same words for every command."""

from __future__ import annotations

from jettison.instances.core.card import Card, ResidentSource, as_card
from jettison.instances.core.units import (
    NANOSECOND_UNITS,
    exact_bytes,
    format_bytes,
    format_ns,
    percent,
)
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import Infeasibility
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import kind_of

Rows = list[tuple[str, str]]


def span(time_ns: int, *remarks: str) -> str:
    """Write a time for a person, and in brackets in nanoseconds, with further remarks."""
    exact = [f"{time_ns} ns"] if time_ns >= NANOSECOND_UNITS["us"] else []
    inside = ", ".join([*exact, *remarks])
    return f"{format_ns(time_ns)} ({inside})" if inside else format_ns(time_ns)


def duration(problem: Problem, time_ns: int) -> str:
    """Write the time of a step, with its overhead over the reference time."""
    reference = kind_of(problem).reference(problem)
    overhead = time_ns / reference.time_ns - 1 if reference.time_ns else 0.0
    # A schedule that breaks rules can be faster than the step itself.
    sign = "" if overhead < 0 else "+"
    return span(time_ns, f"{sign}{percent(overhead)} over no {reference.without}")


def problem_rows(problem: Problem) -> Rows:
    """Return the rows on the problem: instance, card, memory and link."""
    rows = [("problem", f"{problem.problem} {problem.instance.name}")]
    card = as_card(problem.memory)
    if card is not None:
        rows += _card_rows(card)
    rows.append(("memory", exact_bytes(problem.memory_bytes)))
    link, transfers = problem.link, kind_of(problem).transfers(problem)
    if link is not None:
        manner = "" if transfers is None else f", transfers {transfers}"
        rows.append(("link", f"{link}{'' if link.is_shared else ' each way'}{manner}"))
    return rows


def _card_rows(card: Card) -> Rows:
    name = f"{card.name}, " if card.name else ""
    left_bytes = card.card_bytes - card.resident_bytes
    source = _RESIDENT_SOURCES[card.resident_source]
    return [
        ("card", f"{name}{exact_bytes(card.card_bytes)}"),
        ("resident", f"{exact_bytes(card.resident_bytes)}{source}"),
        ("for the plan", format_bytes(left_bytes)),
    ]


_RESIDENT_SOURCES = {
    ResidentSource.GIVEN: "",
    ResidentSource.INSTANCE: ", as the instance records them",
    ResidentSource.ALL_PLANNED: ": all that the instance has is planned; --resident adds to it",
    ResidentSource.NOT_RECORDED: ": the instance records none",
}


def peak_rows(problem: Problem, peak_bytes: int) -> Rows:
    """Return the rows on the peak of a schedule, and of the whole card where there is one."""
    rows = [("peak", exact_bytes(peak_bytes))]
    card = as_card(problem.memory)
    if card is not None:
        rows.append(("peak of the card", exact_bytes(card.with_plan(peak_bytes))))
    return rows


def overhead_rows(problem: Problem, replay: Replay | None) -> Rows:
    """Return the rows on recomputation and waiting, for problems that tell them apart."""
    return [
        (key.removesuffix("_ns"), span(spent_ns))
        for key, spent_ns in kind_of(problem).spent(replay).items()
        if spent_ns is not None
    ]


def _gap(gap: float | None, gap_of_step: float | None) -> str:
    if gap_of_step is None:
        return percent(gap)
    return f"{percent(gap_of_step)} of the step, {percent(gap)} of its overhead"


def limit_rows(
    problem: Problem,
    infeasibility: Infeasibility | None,
    bound: Bound | None,
    bound_of_all: Bound | None,
    gap: float | None,
    gap_of_step: float | None = None,
) -> Rows:
    """Return the rows on limits: the lower bound, or the least memory where nothing fits.

    Beside a bound for a class of schedules stands the bound for all schedules. The gap is a share
    of the overhead; where one of the whole step is given as well, that stands first.
    """
    if infeasibility is not None:
        if infeasibility.least_memory_bytes is None:
            none = "none suffices: forbidden strategies and pairs leave no choice"
            rows = [("least memory", none)]
            if infeasibility.needed_by is not None:
                rows.append(("without a choice", infeasibility.needed_by))
            return rows
        word = "least memory" if infeasibility.is_exact else "least memory, at least"
        rows = [(word, exact_bytes(infeasibility.least_memory_bytes))]
        card = as_card(problem.memory)
        if card is not None:
            least_card_bytes = card.with_plan(infeasibility.least_memory_bytes)
            rows.append((word.replace("memory", "card"), exact_bytes(least_card_bytes)))
        if infeasibility.valid_for is not ScheduleClass.ALL:
            rows.append(("valid for", f"{infeasibility.valid_for}, by {infeasibility.evidence}"))
        if infeasibility.needed_by is not None:
            rows.append(("needed by", infeasibility.needed_by))
        return rows
    if bound is None:
        return []
    rows = [
        ("lower bound", span(bound.time_ns, bound.method)),
        ("valid for", f"{bound.valid_for}, by {bound.evidence}"),
        ("gap", _gap(gap, gap_of_step)),
    ]
    if bound_of_all is not None and bound.valid_for is not bound_of_all.valid_for:
        rows.append(
            ("all schedules", f"at least {span(bound_of_all.time_ns, bound_of_all.method)}")
        )
    return rows
