"""Checks of names (printable, unique) and suggestions for misspelt ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from jettison.instances.core.errors import InputError

LONGEST_NAME = 200
_MOST_SUGGESTED = 3


def checked_name(value: object, field: str) -> str:
    """Return `value` if it is a printable name that fits tables, plots and files.

    Raises
    ------
    InputError
        If it is not text, is empty, too long, or holds characters that do not print.
    """
    expected = f"write 1 to {LONGEST_NAME} printable characters"
    if not isinstance(value, str):
        raise InputError(f"{value!r} is not text", field=field, expected=expected)
    if not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise InputError(f"{value[:40]!r} cannot be a name", field=field, expected=expected)
    return value


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return "did you mean" advice; empty if no known name is similar.

    Names that begin with what was written come first, then those that have it as a word, three at
    most; else the most similar one.
    """
    asked = name.lower()
    begun = [known for known in names if asked and known.lower().startswith(asked)]
    within = [known for known in names if asked in re.split("[-. ]", known.lower())]
    similar = begun or within or difflib.get_close_matches(asked, names, n=1)
    if not similar:
        return ""
    *others, last = similar[:_MOST_SUGGESTED]
    return f"write {', '.join(others)} or {last}, or " if others else f"write {last}, or "


def checked_unique(names: Sequence[str], field: str) -> None:
    """Raise `InputError` with both positions if a name occurs twice."""
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in first:
            raise InputError(
                f"{name!r} is also the name of {field}[{first[name]}]",
                field=f"{field}[{position}].name",
                expected="give every one a name of its own",
            )
        first[name] = position
