"""Summaries of results and verdicts: names and values, as text and as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from jettison.instances.core.units import format_ns, percent
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.answers.rows import (
    Rows,
    duration,
    limit_rows,
    overhead_rows,
    peak_rows,
    problem_rows,
)
from jettison.solvers.core.registry import kind_of

if TYPE_CHECKING:
    from jettison.solvers.core.result import Result
    from jettison.solvers.core.verdict import Verdict


def result_rows(result: Result) -> Rows:
    """Return what a method found: problem, status, time, memory, bound and gap."""
    rows = problem_rows(result.problem)
    rows += [("method", result.method), ("status", f"{result.status} ({result.termination})")]
    if result.time_ns is not None and result.peak_bytes is not None:
        rows += [
            ("time", duration(result.problem, result.time_ns)),
            *peak_rows(result.problem, result.peak_bytes),
        ]
    rows += overhead_rows(result.problem, result.replay)
    rows += limit_rows(
        result.problem,
        result.infeasibility,
        result.bound,
        result.bound_of_all,
        result.gap,
        result.gap_of_step if kind_of(result.problem).states_gap_of_step else None,
    )
    if result.note:
        rows.append(("note", result.note))
    rows.append(("seconds", f"{result.seconds:.3f}"))
    return rows


def verdict_rows(verdict: Verdict) -> Rows:
    """Return what is known of a problem and of a schedule: broken rules, bounds and gap."""
    rows = problem_rows(verdict.problem)
    rows.append(("status", verdict.status))
    replay = verdict.replay
    if replay is not None:
        rows += [
            ("time", duration(verdict.problem, replay.time_ns)),
            *peak_rows(verdict.problem, replay.peak_bytes),
            ("class", str(replay.schedule_class)),
        ]
        rows += overhead_rows(verdict.problem, replay)
        rows += [("broken rule", str(violation)) for violation in replay.violations]
    infeasible = verdict.infeasible
    proof = None if infeasible is None else infeasible.infeasibility
    rows += limit_rows(
        verdict.problem, proof, verdict.found_bound, verdict.bound_of_all, verdict.gap
    )
    rows += [
        ("nothing fits", f"of the class {empty.valid_for}; others may")
        for empty in verdict.empty_classes
    ]
    rows.append(("seconds", f"{verdict.seconds:.3f}"))
    return rows


def picture_title(result: Result) -> str:
    """Return instance, method, time, overhead, and how far the best can be from it."""
    name = f"{result.problem.instance.name}: {result.method}"
    if result.time_ns is None:
        return name
    base_ns = kind_of(result.problem).reference(result.problem).time_ns
    said = [format_ns(result.time_ns)]
    if base_ns:
        said.append(f"{percent(result.time_ns / base_ns - 1)} overhead")
    if result.bound is not None:
        own = "" if result.bound.valid_for is ScheduleClass.ALL else f" {result.bound.valid_for}"
        is_best = result.time_ns == result.bound.time_ns
        said.append(f"optimal{own}" if is_best else f"gap {percent(result.gap)}{own}")
    return f"{name}\n{', '.join(said)}"


def as_text(rows: Rows) -> str:
    """Return names and values, a line each, the values below each other and in full."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def as_html(rows: Rows) -> str:
    """Return a table of names and values for a notebook."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"
