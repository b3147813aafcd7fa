"""Text of an object of many parts in one line, for people who print it."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 4


def short_repr(of: object, noun: str, parts: Sequence[object]) -> str:
    """Return class, number and first parts: ``<ChainSchedule of 80 operations: F_all 1, ...>``.

    Parameters
    ----------
    of
        The object.
    noun
        Plural noun of its parts.
    parts
        Its parts, in their order.
    """
    shown = [str(part) for part in parts[:_SHOWN]]
    more = ["..."] if len(parts) > _SHOWN else []
    return f"<{type(of).__name__} of {len(parts)} {noun}: {', '.join([*shown, *more])}>"
