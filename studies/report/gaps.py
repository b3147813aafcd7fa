"""Table of gaps: methods against memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jettison.instances.core.units import format_bytes
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.studies.report import words
from jettison.studies.report.figure import Style
from jettison.studies.report.markup import Markup, element
from jettison.studies.report.panel import Panel
from jettison.studies.report.run import Run

# Gaps from which on a cell is shaded more.
_SHADES = (0.001, 0.01, 0.05, 0.2)
# Words for the status of a job that has neither a schedule nor a bound nor a proof.
_WITHOUT_AN_ANSWER = {
    "not-applicable": "does not apply",
    "not-found": "not found",
    "unknown": "at its limit",
}


def gap_table(panel: Panel, styles: Mapping[str, Style]) -> Markup:
    """Return the table of a panel; a click on a memory sorts by it.

    A cell holds the distance of a schedule to the best bound that any job of the study proved for
    its class. For a method that only bounds it is the distance of its bound to the best schedule,
    in italics. Of several seeds the best one counts. A job that has found nothing says whether its
    method does not apply, came to its end, or came to a limit.
    """
    head = [
        element(
            "th",
            element("button", "method", type="button", class_="sort"),
            scope="col",
            aria_sort="none",
        )
    ]
    for memory_bytes in panel.memories:
        title = panel.memory_text(memory_bytes)
        size = format_bytes(memory_bytes)
        content = [element("b", title), element("br"), size] if title else [element("b", size)]
        button = element("button", *content, type="button", class_="sort")
        head.append(element("th", button, scope="col", class_="number", aria_sort="none"))
    rows = [
        element(
            "tr",
            element(
                "th",
                element(
                    "span", "", class_="swatch", style=f"--c: var(--{styles[label].colour[1:]})"
                ),
                label,
                scope="row",
                data_value=f"{place}",
            ),
            *(
                _cell([run for run in runs if run.job.memory_bytes == memory], panel.cells[memory])
                for memory in panel.memories
            ),
        )
        for place, (label, runs) in enumerate(panel.by_label.items())
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", "Gap to the best bound of the class"),
            element("thead", element("tr", *head)),
            element("tbody", *rows),
            class_="gaps sortable",
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=f"gaps of {panel.instance}",
    )


def _cell(runs: Sequence[Run], everything: Sequence[Run]) -> Markup:
    if not runs:
        return element("td", "", data_value="9e9")
    solved = [run for run in runs if run.gap_to_best is not None]
    if solved:
        best = min(solved, key=lambda run: run.gap_to_best or 0)
        assert best.gap_to_best is not None
        assert best.time_ns is not None
        assert best.best_bound_ns is not None
        return element(
            "td",
            words.percent(best.gap_to_best),
            class_=f"number shade-{_shade(best.gap_to_best)}",
            data_value=f"{best.gap_to_best:.9f}",
            title=f"{words.exact_time(best.time_ns)}; best bound, for {best.schedule_class}: "
            f"{words.exact_time(best.best_bound_ns)}",
        )
    (first, *_) = runs
    if all(run.failed is not None for run in runs):
        return _word("failed", first.failed or "", "8e9", "failed")
    if first.is_infeasible:
        return _word("nothing fits", f"proved for {first.infeasible_for}", "7e9", "infeasible")
    distance = bound_distance(runs, everything)
    if distance is not None:
        share, bound_ns, valid_for = distance
        return element(
            "td",
            element("i", words.percent(share)),
            class_="number bound",
            data_value=f"{1e6 + share:.9f}",
            title=f"its bound, {words.exact_time(bound_ns)} for {valid_for}, below the best "
            "schedule of that class",
        )
    why = _WITHOUT_AN_ANSWER.get(first.status or "", words.NOTHING)
    return _word(why, first.note or first.termination or "", "6e9", "none")


def bound_distance(runs: Sequence[Run], everything: Sequence[Run]) -> tuple[float, int, str] | None:
    """Return the least distance of the bounds from the best schedule for which they hold.

    Returns
    -------
    tuple or None
        The distance as a share of that schedule's time, the bound, and its class; None where the
        jobs have proved no more than the base time, or there is no such schedule.
    """
    found = []
    for run in runs:
        for bound in run.bounds:
            if bound.method == "base-time":
                continue
            times = [
                other.time_ns
                for other in everything
                if other.time_ns
                and other.schedule_class is not None
                and bound.valid_for.covers(ScheduleClass(other.schedule_class))
            ]
            if times:
                best_ns = min(times)
                share = (best_ns - bound.time_ns) / best_ns
                found.append((share, bound.time_ns, str(bound.valid_for)))
    return min(found, default=None)


def _word(text: str, title: str, value: str, kind: str) -> Markup:
    return element("td", text, class_=f"number {kind}", data_value=value, title=title or None)


def _shade(gap: float) -> int:
    return sum(gap >= limit for limit in _SHADES)
