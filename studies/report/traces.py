"""Traces of solvers: best time and bound over seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jettison.schedules.core.picture_style import AxisUnit, time_unit
from jettison.studies.report import words
from jettison.studies.report.figure import Figure, Style, Trace, axis, figure, lines
from jettison.studies.report.panel import Panel
from jettison.studies.report.run import Run, TracePoint

# A trace keeps its ends and as many points between them as a picture can show.
_MOST_POINTS = 120
# Of all traces of a page.
MOST_BYTES = 2_500_000
# A single point is no progress.
_LEAST_POINTS = 2


@dataclass
class TraceRoom:
    """Budget of the page for traces.

    Attributes
    ----------
    left_bytes
        Room for more figures.
    left_out
        How many cells have found none.
    """

    left_bytes: int = MOST_BYTES
    left_out: int = 0

    def takes(self, drawn: Figure) -> bool:
        """Tell whether a figure is within the budget, and charge for it."""
        size = len(json.dumps(drawn, separators=(",", ":")))
        if size > self.left_bytes:
            self.left_out += 1
            return False
        self.left_bytes -= size
        return True


def trace_figures(panel: Panel, styles: Mapping[str, Style], room: TraceRoom) -> dict[int, Figure]:
    """Draw the progress of the jobs of each memory, within the budget of the page.

    A memory without any progress has no figure.
    """
    found: dict[int, Figure] = {}
    for memory_bytes, runs in panel.cells.items():
        told = [run for run in runs if len(run.trace) >= _LEAST_POINTS]
        if told:
            told.sort(key=lambda run: list(panel.by_label).index(panel.labels[run.key]))
            drawn = _figure(told, panel, styles)
            if room.takes(drawn):
                found[memory_bytes] = drawn
    return found


def _figure(runs: Sequence[Run], panel: Panel, styles: Mapping[str, Style]) -> Figure:
    largest = max(
        (value for run in runs for point in run.trace for value in point[1:] if value is not None),
        default=1,
    )
    unit = time_unit(largest)
    data = [
        trace
        for run in runs
        for trace in _lines(run, panel.labels[run.key], styles[panel.labels[run.key]], unit)
    ]
    return figure(
        data,
        xaxis=axis("seconds", type="log"),
        yaxis=axis(f"best time, bound ({unit.name})"),
    )


def _lines(run: Run, label: str, style: Style, unit: AxisUnit) -> Iterator[Trace]:
    points = thinned(run.trace)
    end = run.seconds or points[-1].seconds
    for what, dash, values in (
        ("best", "solid", [(point.seconds, point.time_ns) for point in points]),
        ("bound", "dot", [(point.seconds, point.bound_ns) for point in points]),
    ):
        known = [(seconds, value) for seconds, value in values if value is not None]
        if not known:
            continue
        if end > known[-1][0]:
            known.append((end, known[-1][1]))
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": f"{label} ({what})",
            # Nothing lies at zero on a logarithmic axis.
            "x": [max(seconds, 1e-4) for seconds, _ in known],
            "y": [unit.of(value) for _, value in known],
            "text": [
                lines(
                    f"{label}, {what}",
                    words.exact_time(value),
                    f"after {words.seconds(seconds)}, seed {run.job.seed}",
                )
                for seconds, value in known
            ],
            "line": {"color": style.colour, "width": 2, "dash": dash, "shape": "hv"},
            "hovertemplate": "%{text}<extra></extra>",
        }


def thinned(trace: Sequence[TracePoint]) -> list[TracePoint]:
    """Return the points of a trace that can be told apart, its ends included."""
    if len(trace) <= _MOST_POINTS:
        return list(trace)
    last = len(trace) - 1
    places = {round(place * last / (_MOST_POINTS - 1)) for place in range(_MOST_POINTS)}
    return [trace[place] for place in sorted(places)]
