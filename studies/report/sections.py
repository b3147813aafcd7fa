"""Sections on problems: profiles, and for each instance curves, gaps, traces and schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jettison.instances.core.units import format_bytes
from jettison.studies.report import words
from jettison.studies.report.curves import curve_figure
from jettison.studies.report.figure import Figure, Style, styles_of
from jettison.studies.report.gaps import gap_table
from jettison.studies.report.markup import Markup, element, joined
from jettison.studies.report.panel import Panel
from jettison.studies.report.profiles import quality_profile, speed_profile
from jettison.studies.report.traces import TraceRoom, trace_figures

_BANDS = (
    "Grey is ruled out: no schedule of the class named in the legend is that fast in that memory. "
    "A bound that is proved for some memory holds for less memory too. Lines are stairs because a "
    "schedule that fits in some memory fits in more."
)
_GAPS = (
    "Of several seeds the best counts. In italics, for methods that only bound: how far the bound "
    "lies below the best schedule that it holds for."
)


@dataclass(frozen=True)
class Sections:
    """Sections, their table of contents, and the figures for their placeholders.

    `left_out` says what there was no room for.
    """

    markup: Markup
    contents: Markup
    figures: Mapping[str, Figure]
    left_out: tuple[str, ...]


def problem_sections(
    panels: Sequence[Panel], timelines: Mapping[str, Mapping[str, Any]]
) -> Sections:
    """Return a section for each problem, in the order of their first job."""
    figures: dict[str, Figure] = {}
    sections, contents = [], []
    room = TraceRoom()
    for problem in dict.fromkeys(panel.problem for panel in panels):
        mine = [panel for panel in panels if panel.problem == problem]
        styles = styles_of(list(dict.fromkeys(label for panel in mine for label in panel.by_label)))
        sections.append(
            element(
                "section",
                element("h2", problem),
                _profiles(problem, mine, styles, figures),
                *(_panel(panel, styles, figures, timelines, room) for panel in mine),
                id=f"problem-{problem}",
            )
        )
        entries = [
            element("li", element("a", _title(panel), href=f"#{panel.name}")) for panel in mine
        ]
        contents.append(
            element(
                "li",
                element("a", problem, href=f"#problem-{problem}"),
                element("ul", *entries),
            )
        )
    left_out = (
        (f"solver traces of {words.plural(room.left_out, 'cell')}: the page would be too large",)
        if room.left_out
        else ()
    )
    return Sections(joined(sections), joined(contents), figures, left_out)


def _title(panel: Panel) -> str:
    return f"{panel.instance}, {panel.resources}" if panel.resources else panel.instance


def _profiles(
    problem: str, panels: Sequence[Panel], styles: Mapping[str, Style], figures: dict[str, Figure]
) -> Markup:
    drawn = []
    for kind, title, figure in (
        ("quality", "How near the best schedule", quality_profile(panels, styles)),
        ("speed", "How soon", speed_profile(panels, styles)),
    ):
        if figure is not None:
            name = f"{kind}-{problem}"
            figures[name] = figure
            drawn.append(
                element("div", element("h4", title), place_for(name, title), class_="half")
            )
    if not drawn:
        return Markup("")
    cells = sum(len(panel.cells) for panel in panels)
    return element(
        "article",
        element("h3", f"Over {words.plural(cells, 'cell')}"),
        element("div", *drawn, class_="halves"),
        element(
            "p",
            "Share of the jobs of a method, in cells where any method found a schedule. A cell is "
            "one instance with one memory and one link.",
            class_="caption",
        ),
        class_="card",
    )


def _panel(
    panel: Panel,
    styles: Mapping[str, Style],
    figures: dict[str, Figure],
    timelines: Mapping[str, Mapping[str, Any]],
    room: TraceRoom,
) -> Markup:
    figures[f"curves-{panel.name}"] = curve_figure(panel, styles)
    facts = []
    if panel.base_time_ns is not None:
        facts.append(f"base time {words.exact_time(panel.base_time_ns)}")
    facts.append(words.plural(len(panel.runs), "job"))
    return element(
        "article",
        element("h3", panel.instance, element("small", panel.resources)),
        element(
            "p",
            "; ".join(facts) + "; ",
            element("a", "the instance", href=f"#instance-{panel.instance_sha256}"),
            class_="meta",
        ),
        element(
            "div",
            element("button", "logarithmic", type="button", class_="scale", aria_pressed="false"),
            class_="tools",
            data_for=f"curves-{panel.name}",
        ),
        place_for(f"curves-{panel.name}", f"time against memory, {_title(panel)}", tall=True),
        element("p", _BANDS, class_="caption"),
        gap_table(panel, styles),
        element("p", _GAPS, class_="caption"),
        _traces(panel, styles, figures, room),
        _schedules(panel, timelines),
        class_="card panel",
        id=panel.name,
    )


def _traces(
    panel: Panel, styles: Mapping[str, Style], figures: dict[str, Figure], room: TraceRoom
) -> Markup:
    found = trace_figures(panel, styles, room)
    if not found:
        return Markup("")
    options = []
    for memory_bytes, figure in found.items():
        name = f"traces-{panel.name}-{memory_bytes}"
        figures[name] = figure
        options.append(element("option", _memory(panel, memory_bytes), value=name))
    first = f"traces-{panel.name}-{next(iter(found))}"
    return element(
        "details",
        element("summary", "Solver traces"),
        element(
            "div",
            element("label", "memory ", element("select", *options, class_="choose-figure")),
            class_="tools",
        ),
        place_for(first, f"solver traces, {_title(panel)}"),
        element(
            "p",
            "Best time (solid) and bound (dotted) as the method reported them.",
            class_="caption",
        ),
    )


def _schedules(panel: Panel, timelines: Mapping[str, Mapping[str, Any]]) -> Markup:
    runs = [run for run in panel.runs if run.key in timelines]
    if not runs:
        return Markup("")
    options = [
        element(
            "option",
            f"{_memory(panel, run.job.memory_bytes)}: {panel.labels[run.key]}, "
            f"{words.human_time(run.time_ns or 0)}",
            value=run.key,
        )
        for run in sorted(runs, key=lambda run: run.job.memory_bytes)
    ]
    moves = [
        ("zoom-in", "+", "zoom in"),
        ("zoom-out", "−", "zoom out"),
        ("left", "◀", "to the left"),
        ("right", "▶", "to the right"),
        ("all", "all", "show all"),
    ]
    return element(
        "details",
        element("summary", "Schedules"),
        element(
            "div",
            element("label", "schedule ", element("select", *options, class_="choose-timeline")),
            element(
                "span",
                *(
                    element(
                        "button", sign, type="button", class_="move", data_move=move, title=title
                    )
                    for move, sign, title in moves
                ),
                class_="moves",
            ),
            class_="tools",
        ),
        element(
            "div",
            "",
            class_="plot tall timeline",
            role="img",
            aria_label=f"schedule over time, {_title(panel)}",
        ),
        element("p", "", class_="caption timeline-facts"),
        open=True,
    )


def _memory(panel: Panel, memory_bytes: int) -> str:
    text, size = panel.memory_text(memory_bytes), format_bytes(memory_bytes)
    return f"{text} ({size})" if text else size


def place_for(name: str, description: str, *, tall: bool = False) -> Markup:
    """Return the placeholder in which the page draws a figure."""
    return element(
        "div",
        "",
        class_="plot tall" if tall else "plot",
        data_figure=name,
        role="img",
        aria_label=description,
    )
