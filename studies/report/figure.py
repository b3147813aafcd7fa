"""Common parts of figures: layout, a style for each method, and escaped text.

A figure is what plotly takes: a dictionary with ``data`` and ``layout``. Colours are names of
colours of the style sheet (``@blue``), which the page looks up for its theme.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Trace = dict[str, Any]
Figure = dict[str, Any]

# As in all pictures, colours that people of every kind of colour vision tell apart.
COLOURS = ("@blue", "@vermilion", "@green", "@orange", "@purple", "@sky", "@ink")
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")
_DASHES = ("solid", "dash", "dot", "dashdot")


class Style(NamedTuple):
    """Style of a method in all figures of its problem."""

    colour: str
    symbol: str
    dash: str


def styles_of(labels: Sequence[str]) -> dict[str, Style]:
    """Give each label a colour, and a symbol and a dash for readers who cannot tell colours."""
    return {
        label: Style(
            COLOURS[place % len(COLOURS)],
            _SYMBOLS[place % len(_SYMBOLS)],
            _DASHES[place // len(COLOURS) % len(_DASHES)],
        )
        for place, label in enumerate(labels)
    }


def plain(text: str) -> str:
    """Escape a text for plotly, which reads some tags and entities in its labels."""
    return html.escape(text, quote=False)


def lines(*parts: str | None) -> str:
    """Return lines of a label; None is left out, the first one is bold."""
    first, *rest = [plain(part) for part in parts if part]
    return "<br>".join([f"<b>{first}</b>", *rest])


def figure(data: Sequence[Trace], **layout: Any) -> Figure:
    """Return a figure whose legend is below, even if it has a single line."""
    return {
        "data": list(data),
        "layout": {
            "margin": {"l": 64, "r": 16, "t": 12, "b": 48},
            "hovermode": "closest",
            # By default plotly leaves a single line without its name.
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"},
            **layout,
        },
    }


def axis(title: str, **more: Any) -> Mapping[str, Any]:
    """Return an axis with a title."""
    return {"title": {"text": plain(title), "standoff": 8}, "automargin": True, **more}
