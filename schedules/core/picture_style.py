"""Common style of all pictures: colours, units of axes, empty figure, legend.

Pictures are made of matplotlib's objects, never of pyplot, which would keep every figure alive and
look for a screen. The functions that need matplotlib load it when they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from jettison.instances.core.units import BYTE_UNITS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# Colours that people of every kind of colour vision tell apart (Okabe and Ito, 2008).
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
YELLOW = "#F0E442"
BROWN = "#8C6D46"
LIGHT_GREY = "#D9D9D9"
GREY = "#8C8C8C"
BLACK = "#1A1A1A"

# Every colour has one meaning, the same in all pictures. Those of methods are in
# `jettison.studies.comparison.method_style`.
FORWARD = BLUE
BACKWARD = GREEN
AGAIN = ORANGE
SENT = PURPLE
FETCHED = SKY
UPDATE = "#3B3561"
WAITING = GREY
IN_MEMORY = LIGHT_GREY
ON_THE_HOST = "#F0D6E3"
LIMIT = VERMILION

_SECONDS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}

# Characters of the font of titles, on average.
_CHARACTERS_PER_INCH = 11


def tint(colour: str, share: float) -> str:
    """Return a colour of which this share is left, and the rest is white."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02X}" for part in parts)


class AxisUnit(NamedTuple):
    """Unit of an axis, and its size in bytes or nanoseconds."""

    name: str
    size: int

    def of(self, amount: int) -> float:
        """Return an amount of bytes or nanoseconds in this unit."""
        return amount / self.size


def memory_unit(largest_bytes: int) -> AxisUnit:
    """Return the largest binary unit that is at most `largest_bytes`, else bytes."""
    for name in ("TiB", "GiB", "MiB", "KiB"):
        if largest_bytes >= BYTE_UNITS[name]:
            return AxisUnit(name, BYTE_UNITS[name])
    return AxisUnit("B", 1)


def time_unit(largest_ns: int) -> AxisUnit:
    """Return the largest unit of time that is at most `largest_ns`, else ns."""
    for name, size in _SECONDS.items():
        if largest_ns >= size:
            return AxisUnit(name, size)
    return AxisUnit("ns", 1)


def empty_axes(width_in: float, height_in: float, title: str) -> Axes:
    """Return the axes of a new figure of this size in inches, laid out so that no text is cut."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(width_in, height_in), layout="constrained").add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    set_title(axes, title)
    return axes


def set_title(axes: Axes, title: str) -> None:
    """Set the title as plain text: a dollar sign in a name does not begin a formula.

    Lines that are wider than the axes are broken.
    """
    inches = axes.figure.figure.get_figwidth() * axes.get_position().width
    widest = int(_CHARACTERS_PER_INCH * inches)
    lines = [fill(line, widest) for line in title.splitlines()]
    axes.set_title("\n".join(lines), loc="left", fontsize=11, parse_math=False)


def legend_below(axes: Axes, handles: Sequence[Artist], *, columns: int) -> None:
    """Put a legend under the label of the horizontal axis, where it covers no data."""
    from matplotlib.transforms import offset_copy

    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        # The ticks and the label take 40 points, however high the axes are.
        bbox_transform=offset_copy(axes.transAxes, axes.figure.figure, y=-40, units="points"),
        ncols=columns,
        frameon=False,
        fontsize=9,
        columnspacing=1.5,
        handlelength=1.8,
        borderaxespad=0.0,
    )
