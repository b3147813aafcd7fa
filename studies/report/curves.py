"""Figure of time against memory: the schedules of each method, and what bounds rule out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from jettison.schedules.core.picture_style import AxisUnit, memory_unit, time_unit
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.registry import find_kind
from jettison.studies.report import words
from jettison.studies.report.bound_steps import BoundStep, bound_steps, proved_classes
from jettison.studies.report.figure import Figure, Style, Trace, axis, figure, lines
from jettison.studies.report.panel import Panel
from jettison.studies.report.run import Run

# Shades of what is ruled out, from that for all schedules to that for the narrowest class.
_BANDS = ("@band-0", "@band-1", "@band-2", "@band-3")
_EDGE_DASHES = ("solid", "dash", "dot", "dashdot")
# Times that differ more than this are easier to read on a logarithmic axis.
_LARGEST_LINEAR_RATIO = 2.5


def curve_figure(panel: Panel, styles: Mapping[str, Style]) -> Figure:
    """Draw the curves of a panel.

    A line is a staircase, because a schedule that fits in some memory fits in more, through the
    best job of each memory. The grey regions are ruled out, each for a class of schedules.

    Returns
    -------
    Figure
        Its ``ranges`` hold the vertical range for a linear and for a logarithmic axis, and its
        layout begins with the one that suits.
    """
    base_ns = panel.base_time_ns
    memory = memory_unit(panel.memories[-1])
    times = [run.time_ns for run in panel.runs if run.time_ns is not None]
    classes = proved_classes(panel.runs)
    steps = {each: bound_steps(panel.runs, each) for each in classes}
    bounds = [step.time_ns for each in steps.values() for step in each if step.time_ns is not None]
    known = [*times, *bounds, *([] if base_ns is None else [base_ns])] or [1]
    time = time_unit(max(known))
    left, right = _memory_range(panel, steps, memory)
    ranges = _time_ranges(known, time)
    traces = [
        _band(steps[each], each, base_ns, place, (left, right), ranges, memory, time)
        for place, each in reversed(list(enumerate(reversed(classes))))
    ]
    if base_ns is not None:
        traces.append(_base_line(base_ns, (left, right), time))
    for place, (label, runs) in enumerate(panel.by_label.items()):
        # Later markers are smaller, so that equal results show as one inside the other.
        size = max(18.0 * 0.7**place, 6.0)
        traces += _method(label, runs, styles[label], size, memory, time)
    marks, shapes = _infeasible(panel, memory, (left, right), ranges)
    traces += marks
    scale = (
        "log" if max(known) > _LARGEST_LINEAR_RATIO * min(known) and min(known) > 0 else "linear"
    )
    drawn = figure(
        traces,
        xaxis=axis(f"memory limit ({memory.name})", range=[left, right]),
        yaxis=axis(f"time of a step ({time.name})", range=ranges[scale], type=scale),
        shapes=shapes,
    )
    drawn["ranges"] = ranges
    return drawn


def _memory_range(
    panel: Panel, steps: Mapping[ScheduleClass, Sequence[BoundStep]], memory: AxisUnit
) -> tuple[float, float]:
    marks = [*panel.memories, *(step.memory_bytes for each in steps.values() for step in each)]
    low, high = memory.of(min(marks)), memory.of(max(marks))
    room = 0.06 * (high - low) or 0.1 * high or 1.0
    return max(low - room, 0.0), high + room


def _time_ranges(known: Sequence[int], time: AxisUnit) -> dict[str, list[float]]:
    low, high = time.of(min(known)), time.of(max(known))
    room = 0.12 * (high - low) or 0.1 * high or 1.0
    ranges = {"linear": [max(low - room, 0.0), high + room]}
    if low > 0:
        factor = max((high / low) ** 0.12, 1.02)
        ranges["log"] = [math.log10(low / factor), math.log10(high * factor)]
    return ranges


def _band(
    steps: Sequence[BoundStep],
    schedule_class: ScheduleClass,
    base_ns: int | None,
    shade: int,
    span: tuple[float, float],
    ranges: Mapping[str, Sequence[float]],
    memory: AxisUnit,
    time: AxisUnit,
) -> Trace:
    """Return the region below a staircase, and everything where there is no schedule."""
    left, right = span
    # Far outside of both scales, so that the region has no lower or upper edge in the picture.
    bottom = min(ranges["linear"][0], 10 ** ranges.get("log", [0.0])[0]) / 10
    top = 10 * ranges["linear"][1]
    x, y, text = [left], [bottom], [""]
    for step in steps:
        height = top if step.time_ns is None else time.of(step.time_ns)
        end = memory.of(step.memory_bytes)
        said = (
            f"no schedule fits in {words.exact_memory(step.memory_bytes)}"
            if step.time_ns is None
            else f"none takes less than {words.exact_time(step.time_ns)}"
        )
        hover = lines(
            f"Proved for {_named(schedule_class)}",
            said,
            None if step.time_ns is None else f"in at most {words.exact_memory(step.memory_bytes)}",
        )
        x += [x[-1], end]
        y += [height, height]
        text += [hover, hover]
    # Beyond the last step only the base time is known: it holds for every memory.
    if base_ns is not None:
        x += [x[-1], right]
        y += [time.of(base_ns)] * 2
        text += [""] * 2
    x.append(x[-1])
    y.append(bottom)
    text.append("")
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"ruled out: {_named(schedule_class)}",
        "x": x,
        "y": y,
        "text": text,
        "fill": "toself",
        "fillcolor": _BANDS[min(shade, len(_BANDS) - 1)],
        "line": {"color": "@edge", "width": 1, "dash": _EDGE_DASHES[min(shade, 3)]},
        "hoveron": "points",
        "hovertemplate": "%{text}<extra></extra>",
    }


def _named(schedule_class: ScheduleClass) -> str:
    if schedule_class is ScheduleClass.ALL:
        return str(schedule_class)
    return f"{schedule_class} schedules"


def _base_line(base_ns: int, span: tuple[float, float], time: AxisUnit) -> Trace:
    height = time.of(base_ns)
    # Points along the line, so that it answers wherever one points at it.
    count = 24
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "base time",
        "x": [span[0] + (span[1] - span[0]) * place / count for place in range(count + 1)],
        "y": [height] * (count + 1),
        "text": [
            lines(
                f"Base time {words.exact_time(base_ns)}",
                "every operation once, without waiting",
            )
        ]
        * (count + 1),
        "line": {"color": "@ink", "width": 1.5, "dash": "dot"},
        "hovertemplate": "%{text}<extra></extra>",
    }


def _method(
    label: str,
    runs: Sequence[Run],
    style: Style,
    size: float,
    memory: AxisUnit,
    time: AxisUnit,
) -> Iterator[Trace]:
    """Yield the line through the best jobs, and the other jobs as separate points."""
    best: dict[int, tuple[int, Run]] = {}
    for run in runs:
        place = run.job.memory_bytes
        if run.time_ns is not None and (place not in best or run.time_ns < best[place][0]):
            best[place] = run.time_ns, run
    if not best:
        return
    on_line = [best[place] for place in sorted(best)]
    marker = {"color": style.colour, "symbol": style.symbol}
    yield {
        "type": "scatter",
        "mode": "lines+markers",
        "name": label,
        "legendgroup": label,
        "x": [memory.of(run.job.memory_bytes) for _, run in on_line],
        "y": [time.of(time_ns) for time_ns, _ in on_line],
        "text": [describe(label, run) for _, run in on_line],
        "line": {"color": style.colour, "width": 2, "dash": style.dash, "shape": "hv"},
        "marker": {**marker, "size": size, "line": {"color": "@surface", "width": 1}},
        "hovertemplate": "%{text}<extra></extra>",
    }
    drawn = {run.key for _, run in on_line}
    others = [
        (run.time_ns, run) for run in runs if run.time_ns is not None and run.key not in drawn
    ]
    if others:
        yield {
            "type": "scatter",
            "mode": "markers",
            "name": label,
            "legendgroup": label,
            "showlegend": False,
            "x": [memory.of(run.job.memory_bytes) for _, run in others],
            "y": [time.of(time_ns) for time_ns, _ in others],
            "text": [describe(label, run) for _, run in others],
            "marker": {**marker, "size": 6, "opacity": 0.55},
            "hovertemplate": "%{text}<extra></extra>",
        }


def describe(label: str, run: Run) -> str:
    """Return the label of a job with a schedule, with all numbers exact."""
    assert run.time_ns is not None
    assert run.peak_bytes is not None
    over = (
        f"{words.percent((run.time_ns - run.base_time_ns) / run.base_time_ns)} over the base time"
        if run.base_time_ns
        else None
    )
    return lines(
        label,
        f"time {words.exact_time(run.time_ns)}",
        over,
        f"memory {words.exact_memory(run.job.memory_bytes)}",
        f"peak {words.exact_memory(run.peak_bytes)}",
        None if run.best_bound_ns is None else f"best bound {words.exact_time(run.best_bound_ns)}",
        None
        if run.best_bound_ns is None
        else f"gap to it {words.percent(run.gap_to_best)}, for {run.schedule_class}",
        f"gap to the method's own bound {words.percent(run.gap)}",
        f"{run.status}, {run.termination}, {words.seconds(run.seconds or 0)}, seed {run.job.seed}",
    )


def _infeasible(
    panel: Panel,
    memory: AxisUnit,
    span: tuple[float, float],
    ranges: Mapping[str, Sequence[float]],
) -> tuple[list[Trace], list[dict[str, object]]]:
    """Mark the memories in which nothing fits, and the least memory that would suffice."""
    narrow = find_kind(panel.problem).narrow_class
    proofs = {run.job.memory_bytes: run for run in panel.runs if run.is_infeasible}
    if not proofs:
        return [], []
    texts = []
    for memory_bytes, run in proofs.items():
        assert run.infeasible_for is not None
        texts.append(
            lines(
                "Nothing fits",
                f"in {words.exact_memory(memory_bytes)}: proved for {_named(run.infeasible_for)}",
                None
                if run.least_memory_bytes is None
                else f"least memory {words.exact_memory(run.least_memory_bytes)}",
                None if run.least_memory_bytes is None else f"for {_named(narrow)}",
            )
        )
    low, high = ranges["linear"]
    marks: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "nothing fits",
        "x": [memory.of(memory_bytes) for memory_bytes in proofs],
        "y": [high - 0.05 * (high - low)] * len(proofs),
        "text": texts,
        "marker": {"symbol": "x-thin", "size": 10, "line": {"width": 2, "color": "@vermilion"}},
        "hovertemplate": "%{text}<extra></extra>",
    }
    needed = [run.least_memory_bytes for run in panel.runs if run.least_memory_bytes is not None]
    if not needed:
        return [marks], []
    least = max(needed)
    suffix = "" if narrow is ScheduleClass.ALL else f" ({narrow})"
    share = (memory.of(least) - span[0]) / (span[1] - span[0])
    line: dict[str, object] = {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": memory.of(least),
        "x1": memory.of(least),
        "y0": 0,
        "y1": 1,
        "line": {"color": "@vermilion", "width": 1.5, "dash": "dash"},
        "label": {
            "text": f"least {memory.of(least):.4g} {memory.name}{suffix}",
            "textposition": "end",
            "textangle": 0,
            "yanchor": "bottom",
            # Away from the nearer end, where there is no room for it on a narrow screen.
            "xanchor": "left" if share < 1 / 3 else "right" if share > 2 / 3 else "center",
            "font": {"color": "@vermilion", "size": 11},
        },
    }
    return [marks], [line]
