"""Colours and markers of methods: each method has its own, the same in all pictures."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from jettison.solvers.core.registry import PROBLEM_KINDS

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
# Steps of the golden ratio keep neighbours, methods of one problem, far apart among the hues.
_HUE_STEP = (5**0.5 - 1) / 2
_FIRST_HUE = 0.58
# Lightness and saturation, in turn; light ones would not show on white.
_SHADES = ((0.40, 0.85), (0.30, 0.65), (0.52, 0.70))
# Points in which the dashes of lines on each other take one turn, and the shortest dash.
_TURN_POINTS, _SHORTEST_DASH_POINTS = 18.0, 3.0
_LARGEST_MARKER, _SMALLEST_MARKER, _MARKER_STEP = 9.0, 4.0, 1.4


class MethodStyle(NamedTuple):
    """Style of a method.

    Attributes
    ----------
    colour, marker
        As matplotlib has them.
    """

    colour: str
    marker: str


class SharedLine(NamedTuple):
    """Line of a method that may lie on those of others.

    Attributes
    ----------
    dashes
        Offset and pattern: the dashes of methods that lie on each other take turns, so that each
        colour shows. A method alone has a solid line, an empty pattern.
    marker_size
        Markers on one point lie inside each other.
    """

    dashes: tuple[float, tuple[float, ...]]
    marker_size: float


def method_styles(others: Sequence[str] = ()) -> Mapping[str, MethodStyle]:
    """Return the styles of all methods of all problems, and of others behind them."""
    known = _registered()
    names = dict.fromkeys((*known, *others))
    return {name: _style(place) for place, name in enumerate(names)}


@cache
def _registered() -> tuple[str, ...]:
    names = (method.name for kind in PROBLEM_KINDS for method in kind.methods())
    return tuple(dict.fromkeys(names))


def _style(place: int) -> MethodStyle:
    lightness, saturation = _SHADES[place % len(_SHADES)]
    hue = (_FIRST_HUE + place * _HUE_STEP) % 1
    parts = colorsys.hls_to_rgb(hue, lightness, saturation)
    colour = "#" + "".join(f"{round(255 * part):02X}" for part in parts)
    return MethodStyle(colour, _MARKERS[place % len(_MARKERS)])


def shared_lines(
    points: Mapping[str, Sequence[tuple[float, float]]],
) -> dict[str, SharedLine]:
    """Return how the lines of methods are drawn so that none hides another.

    Parameters
    ----------
    points
        The points of each method, in the order in which they are drawn. Methods that share a point
        take turns.
    """
    groups: list[list[str]] = []
    for name, own in points.items():
        touching = [
            group for group in groups if any(set(points[member]) & set(own) for member in group)
        ]
        merged = [member for group in touching for member in group] + [name]
        groups = [group for group in groups if group not in touching] + [merged]
    found: dict[str, SharedLine] = {}
    for group in groups:
        dash = max(_TURN_POINTS / len(group), _SHORTEST_DASH_POINTS)
        for rank, name in enumerate(group):
            pattern: tuple[float, ...] = ()
            if len(group) > 1:
                pattern = (dash, dash * (len(group) - 1))
            size = max(_LARGEST_MARKER - _MARKER_STEP * rank, _SMALLEST_MARKER)
            offset = dash * ((len(group) - rank) % len(group))
            found[name] = SharedLine((offset, pattern), size)
    return found
