"""Colours of methods on light and on dark pages: the same hue, lighter on dark ones."""

from __future__ import annotations

from jettison.schedules.core.picture_style import tint
from jettison.studies.comparison.method_style import method_styles

# Share of a method's colour on a dark page; the rest is white.
_ON_DARK = 0.6


def method_colours(theme: str) -> dict[str, str]:
    """Return the colour of each method for a theme, ``light`` or ``dark``."""
    colours = {name: style.colour for name, style in method_styles().items()}
    if theme == "dark":
        return {name: tint(colour, _ON_DARK) for name, colour in colours.items()}
    return colours
