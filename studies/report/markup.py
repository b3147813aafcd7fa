"""HTML elements whose texts are escaped when they are made, so that no text becomes markup."""

from __future__ import annotations

import html
from collections.abc import Iterable


class Markup(str):
    """HTML text, which needs no escaping."""

    __slots__ = ()


Content = str | Markup
"""A `Markup` stays as it is; any other text is escaped."""

_VOID = {"br", "col", "input"}


def element(tag: str, *content: Content, **attributes: str | bool | None) -> Markup:
    """Return an element.

    Attributes are written with underscores for hyphens, and a trailing one where the name is a word
    of Python (``class_``, ``for_``). One that is None or False is left out, one that is True has no
    value.
    """
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{html.escape(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(content)}</{tag}>")


def joined(content: Iterable[Content]) -> Markup:
    """Concatenate pieces of HTML."""
    return Markup("".join(escaped(piece) for piece in content))


def escaped(text: Content) -> Markup:
    """Return a text as HTML, escaped unless it is HTML already."""
    return text if isinstance(text, Markup) else Markup(html.escape(text))
