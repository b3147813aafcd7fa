"""Picture of a comparison: time against memory, between the bounds and the base time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.schedules.core.picture_style import (
    BLACK,
    GREY,
    AxisUnit,
    empty_axes,
    legend_below,
    memory_unit,
    time_unit,
)
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.registry import find_kind
from jettison.solvers.core.result import Result
from jettison.studies.comparison.method_style import method_styles, shared_lines
from jettison.studies.comparison.run import ComparedRun, compared_runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DARK, _LIGHT = "#C8C8C8", "#EBEBEB"

# Up to this overhead the axis is linear; beyond, small overheads would be squeezed together.
_LARGEST_LINEAR_PERCENT = 150.0
_LINEAR_PART_PERCENT = 10.0
_LINEAR_SCALE = 0.7
_TICKS_PERCENT = (0, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class BoundStep(NamedTuple):
    """Lower bound `time_ns` for the schedules of a class in at most `memory_bytes`.

    Attributes
    ----------
    memory_bytes
        A bound for this much memory holds for less.
    time_ns
        None if there is no schedule at all.
    """

    memory_bytes: int
    time_ns: int | None


def bound_steps(runs: Sequence[ComparedRun], schedule_class: ScheduleClass) -> list[BoundStep]:
    """Return the best bounds that the runs together prove for a class, by ascending memory.

    A bound of a larger memory counts for the smaller ones too.
    """
    found: dict[int, float] = {}
    for run in runs:
        memory_bytes = run.memory_bytes
        proved = [time for held, time in run.bounds if held.covers(schedule_class)]
        if proved:
            found[memory_bytes] = max(found.get(memory_bytes, 0), *proved)
        if run.empty_class is not None and run.empty_class.covers(schedule_class):
            found[memory_bytes] = math.inf
            if schedule_class is find_kind(run.problem).narrow_class:
                least_bytes = run.least_memory_bytes or memory_bytes + 1
                found[max(memory_bytes, least_bytes - 1)] = math.inf
    steps: list[BoundStep] = []
    largest: float = 0
    for memory_bytes in sorted(found, reverse=True):
        largest = max(largest, found[memory_bytes])
        steps.append(BoundStep(memory_bytes, None if largest == math.inf else int(largest)))
    return steps[::-1]


def plot_compare(results: Sequence[Result] | pd.DataFrame) -> Figure:
    """Draw the time that each method takes against the memory that it is given.

    Time is shown as overhead over the base time, without recomputation or waiting; the axis on the
    right shows seconds. Where more than 2.5 times the base time is needed, the axis is logarithmic
    above 10 %. A method has no point where it found no schedule.

    Each method has a colour and a marker of its own, in all pictures; where lines lie on each other
    their dashes take turns. Lines and bounds are stairs, since a schedule that fits in some memory
    fits in more, and a bound for some memory holds for less. What the bounds rule out is grey: dark
    for all schedules, light for the narrower class of the problem, where it has one:
    persistent, POFO's or staged ones. Bounds that say no more than the base time are not drawn.

    Parameters
    ----------
    results
        Results of one instance, any methods, any memories; or the table of them that
        `jettison.compare` returns.

    Returns
    -------
    Figure
        It is not saved (see `save_figure`).

    Raises
    ------
    InputError
        If there is no result, the results are of several instances or links, or a table lacks
        columns.
    """
    runs = compared_runs(results)
    instances = {run.instance_sha256 for run in runs}
    if len(instances) != 1:
        raise InputError(
            f"results of {len(instances)} instances",
            field="results",
            expected="give results of one instance",
        )
    first = runs[0]
    links = {str(run.link) for run in runs if run.link is not None}
    if len(links) > 1:
        raise InputError(
            f"results of {len(links)} bandwidths",
            field="results",
            expected="give results of one bandwidth",
        )
    overhead = _Overhead(first.reference_ns)
    narrow = find_kind(first.problem).narrow_class
    steps = bound_steps(runs, ScheduleClass.ALL)
    narrow_steps = bound_steps(runs, narrow)
    marks = [step.memory_bytes for step in narrow_steps]
    memory = memory_unit(max(marks))
    asked = ", ".join([first.problem, *links])
    axes = empty_axes(7.2, 4.6, f"{first.instance} ({asked})")
    _limit_axes(axes, runs, narrow_steps, memory, overhead)
    regions = _draw_bounds(axes, steps, narrow_steps, narrow, memory, overhead)
    lines = _draw_methods(axes, runs, memory, overhead)
    time = _draw_time_axis(axes, overhead)
    base = axes.axhline(
        0.0,
        color=BLACK,
        linestyle=":",
        linewidth=1.2,
        zorder=1.5,
        label=f"base time {time.of(overhead.base_ns):.4g} {time.name}",
    )
    axes.set_xlabel(f"memory limit ({memory.name})")
    axes.set_ylabel("overhead over the base time (%)")
    legend_below(axes, [*lines, base, *regions], columns=3)
    return axes.figure.figure


class _Overhead(NamedTuple):
    """Times as percentages on top of the base time."""

    base_ns: int

    def of(self, time_ns: int) -> float:
        # A step that takes no time takes none with recomputation either.
        return 100 * (time_ns - self.base_ns) / self.base_ns if self.base_ns else 0.0

    def time_ns(self, percent: float) -> float:
        return self.base_ns * (1 + percent / 100)


def _limit_axes(
    axes: Axes,
    runs: Sequence[ComparedRun],
    steps: Sequence[BoundStep],
    memory: AxisUnit,
    overhead: _Overhead,
) -> None:
    left, right = memory.of(steps[0].memory_bytes), memory.of(steps[-1].memory_bytes)
    times = [run.time_ns for run in runs] + [step.time_ns for step in steps]
    top = max((overhead.of(time_ns) for time_ns in times if time_ns is not None), default=0.0)
    top = max(top, 1.0)
    if top > _LARGEST_LINEAR_PERCENT:
        axes.set_yscale("symlog", linthresh=_LINEAR_PART_PERCENT, linscale=_LINEAR_SCALE)
        axes.set_ylim(-0.15 * _LINEAR_PART_PERCENT, 1.4 * top)
        axes.set_yticks([tick for tick in _TICKS_PERCENT if tick <= 1.4 * top])
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.minorticks_off()
    else:
        axes.set_ylim(-0.06 * top, 1.1 * top)
    margin = 0.04 * (right - left) or 0.1 * right or 1.0
    axes.set_xlim(max(left - margin, 0.0), right + margin)


def _draw_bounds(
    axes: Axes,
    everything: Sequence[BoundStep],
    narrow: Sequence[BoundStep],
    narrow_class: ScheduleClass,
    memory: AxisUnit,
    overhead: _Overhead,
) -> list[Artist]:
    """Fill the regions that bounds rule out for all schedules and for the narrower class."""
    axes.axhspan(axes.get_ylim()[0], 0.0, color=_DARK, linewidth=0, zorder=0.6)
    handles = []
    if any(step.time_ns != overhead.base_ns for step in everything):
        label = "lower bound, all schedules"
        handles.append(_draw_region(axes, everything, memory, overhead, _DARK, "-", label))
    if narrow != everything:
        label = f"lower bound, {narrow_class} schedules"
        handles.append(_draw_region(axes, narrow, memory, overhead, _LIGHT, "--", label))
    return handles


def _draw_region(
    axes: Axes,
    steps: Sequence[BoundStep],
    memory: AxisUnit,
    overhead: _Overhead,
    colour: str,
    style: Literal["-", "--"],
    label: str,
) -> Artist:
    from matplotlib.patches import Patch

    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    edges = [left, *(memory.of(step.memory_bytes) for step in steps)]
    # Where there is no schedule at all the region reaches beyond the picture.
    heights = [2 * top if step.time_ns is None else overhead.of(step.time_ns) for step in steps]
    # The darker region, which is contained in the lighter one, lies above it.
    order = 0.5 if colour == _DARK else 0.4
    axes.stairs(heights, edges, baseline=bottom, fill=True, color=colour, linewidth=0, zorder=order)
    # Beyond the last bound only the base time is known.
    axes.stairs(
        [*heights, 0.0],
        [*edges, right],
        baseline=None,
        color=GREY,
        linestyle=style,
        linewidth=1.2,
        label=label,
    )
    return Patch(facecolor=colour, edgecolor=GREY, linestyle=style, label=label)


def _draw_methods(
    axes: Axes, runs: Sequence[ComparedRun], memory: AxisUnit, overhead: _Overhead
) -> list[Artist]:
    points: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        if run.time_ns is not None:
            where = memory.of(run.memory_bytes)
            points.setdefault(run.method, []).append((where, overhead.of(run.time_ns)))
    for found in points.values():
        found.sort()
    styles, shared = method_styles(list(points)), shared_lines(points)
    lines: list[Artist] = []
    for method, found in points.items():
        offset, pattern = shared[method].dashes
        lines += axes.plot(
            [where for where, _ in found],
            [height for _, height in found],
            color=styles[method].colour,
            marker=styles[method].marker,
            markersize=shared[method].marker_size,
            linewidth=1.6,
            linestyle=(offset, pattern) if pattern else "-",
            drawstyle="steps-post",
            clip_on=False,
            label=method,
        )
    return lines


def _draw_time_axis(axes: Axes, overhead: _Overhead) -> AxisUnit:
    """Repeat the axis of the overhead on the right as a time; return its unit."""
    from matplotlib.ticker import FuncFormatter

    time = time_unit(overhead.base_ns)
    if overhead.base_ns == 0:
        # The base time is 0, so that every overhead is the same time: none.
        return time
    bottom, top = axes.get_ylim()
    right = axes.twinx()
    right.spines["top"].set_visible(False)
    right.set_ylabel(f"time ({time.name})")
    if axes.get_yscale() == "linear":
        right.set_ylim(overhead.time_ns(bottom) / time.size, overhead.time_ns(top) / time.size)
    else:
        right.set_yscale("symlog", linthresh=_LINEAR_PART_PERCENT, linscale=_LINEAR_SCALE)
        right.set_ylim(bottom, top)
        right.set_yticks(axes.get_yticks())
        right.yaxis.set_major_formatter(
            FuncFormatter(lambda percent, _: _number(overhead.time_ns(percent) / time.size))
        )
        right.minorticks_off()
    return time


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"
