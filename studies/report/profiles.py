r"""Performance profiles over all cells of a problem: quality and speed of its methods.

A cell is one question: an instance, a memory, a link. With :math:`t_{m,c}` the time of the schedule
that a job of method m found for cell c, and :math:`t^*_c` the least of all, the performance profile
(Dolan and Moré, 2002) is the share of the jobs of m, in cells for which any method found a
schedule, with

.. math:: t_{m,c} \le x \, t^*_c .

The second picture has the share of them that had a schedule within one percent of
:math:`t^*_c` after so many seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from jettison.studies.report import words
from jettison.studies.report.figure import Figure, Style, Trace, axis, figure, lines
from jettison.studies.report.panel import Panel
from jettison.studies.report.run import Run

_NEAR = 1.01
_SHORTEST_S = 1e-3


def quality_profile(panels: Sequence[Panel], styles: Mapping[str, Style]) -> Figure | None:
    """Draw the share of jobs within a factor of the best time; None if there is no schedule."""

    def factor(run: Run, best_ns: int) -> float | None:
        if run.time_ns is None:
            return None
        return run.time_ns / best_ns if best_ns else float(run.time_ns == 0) or None

    return _profile(
        panels,
        styles,
        factor,
        left=1.0,
        title="time of the schedule / best time known",
        said=lambda factor: f"within {factor:.4g} times the best",
    )


def speed_profile(panels: Sequence[Panel], styles: Mapping[str, Style]) -> Figure | None:
    """Draw the share of jobs with a good schedule against time; None if there is none."""
    return _profile(
        panels,
        styles,
        seconds_to_near,
        left=_SHORTEST_S,
        title="seconds to within 1 % of the best",
        said=lambda seconds: f"after {words.seconds(seconds)}",
    )


def seconds_to_near(run: Run, best_ns: int) -> float | None:
    """Return when a job first had a schedule within one percent of the best; None if never.

    Where the method reported no progress it is when it ended.
    """
    if run.time_ns is None or run.time_ns > _NEAR * best_ns or run.seconds is None:
        return None
    reported = [
        point.seconds
        for point in run.trace
        if point.time_ns is not None and point.time_ns <= _NEAR * best_ns
    ]
    return max(min([*reported, run.seconds]), _SHORTEST_S)


def _profile(
    panels: Sequence[Panel],
    styles: Mapping[str, Style],
    measure: Callable[[Run, int], float | None],
    *,
    left: float,
    title: str,
    said: Callable[[float], str],
) -> Figure | None:
    values: dict[str, list[float | None]] = {}
    for label, run, best_ns in _jobs_of_cells(panels):
        values.setdefault(label, []).append(measure(run, best_ns))
    # A method that only bounds takes no part.
    values = {
        label: found for label, found in values.items() if any(value is not None for value in found)
    }
    if not values:
        return None
    reached = [value for found in values.values() for value in found if value is not None]
    right = max(1.1 * max(reached), 1.05 * left)
    traces = [
        _steps(label, values[label], styles[label], left, right, said)
        for label in styles
        if label in values
    ]
    ticks = {"tickformat": ".0%", "range": [-0.02, 1.04]}
    return figure(
        traces,
        xaxis=axis(title, type="log"),
        yaxis=axis("share of jobs", **ticks),
    )


def _jobs_of_cells(panels: Sequence[Panel]) -> Iterator[tuple[str, Run, int]]:
    """Yield label, job, and the best known time of its cell, if there is one."""
    for panel in panels:
        for runs in panel.cells.values():
            times = [run.time_ns for run in runs if run.time_ns is not None]
            if times:
                yield from ((panel.labels[run.key], run, min(times)) for run in runs)


def _steps(
    label: str,
    values: Sequence[float | None],
    style: Style,
    left: float,
    right: float,
    said: Callable[[float], str],
) -> Trace:
    reached = sorted(value for value in values if value is not None)
    x, counts = [left], [sum(value <= left for value in reached)]
    for place, value in enumerate(reached, start=1):
        if value > left and (place == len(reached) or reached[place] > value):
            x.append(value)
            counts.append(place)
    x.append(right)
    counts.append(len(reached))
    jobs = words.plural(len(values), "job")
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "x": x,
        "y": [count / len(values) for count in counts],
        "text": [
            lines(label, f"{count} of {jobs} {said(value)}")
            for value, count in zip(x, counts, strict=True)
        ],
        "line": {"color": style.colour, "width": 2, "dash": style.dash, "shape": "hv"},
        "hovertemplate": "%{text}<extra></extra>",
    }
