"""Row and column names that every solver reads back from an LP file unchanged.

An LP file separates names from numbers and keywords by looking at them, so ``3x``, ``free`` and
even ``info`` (which begins like ``inf``, infinity) break the file that they are written to. MPS
files allow more; one rule for both keeps a row's name the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from jettison.instances.core.errors import InputError

_KEYWORDS = (
    "min|minimum|minimi[sz]e|max|maximum|maximi[sz]e|subject|such|st|s\\.t\\.|st\\.|bounds?|free"
    "|gen|generals?|int|integers?|bin|binary|binaries|semis?|sos[12]?|end"
)
# A letter or underscore, then letters, digits and _.(), ; no keyword, no beginning of a number.
_LP_NAME = re.compile(
    rf"(?!(?i:inf|nan|e[0-9]))(?!(?i:{_KEYWORDS})\Z)[A-Za-z_][A-Za-z0-9_.(),]*", re.ASCII
)
_UNUSABLE = re.compile(r"[^A-Za-z0-9_.]+", re.ASCII)


def is_lp_name(name: str) -> bool:
    """Tell whether an LP file can hold `name`, for instance ``R_3_7`` (``R[3,7]`` cannot be)."""
    return _LP_NAME.fullmatch(name) is not None


def as_lp_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return one LP name for each name: itself where possible, ``R[3,7]`` as ``R_3_7``.

    Characters that an LP file cannot hold become an underscore, and a name that is still unusable
    gets one in front. Where two names would become the same, the later gets a number behind it.

    Raises
    ------
    InputError
        If a name occurs twice to begin with: no renaming could tell which one was meant.
    """
    given = tuple(names)
    checked_distinct(given)
    taken = {name for name in given if is_lp_name(name)}
    found = []
    for name in given:
        candidate = name
        if not is_lp_name(name):
            stem = _UNUSABLE.sub("_", name).strip("_")
            stem = stem if is_lp_name(stem) else f"_{stem}"
            candidate, count = stem, 1
            while candidate in taken:
                count += 1
                candidate = f"{stem}_{count}"
            taken.add(candidate)
        found.append(candidate)
    return tuple(found)


def checked_distinct(names: Sequence[str], field: str = "") -> None:
    """Raise `InputError` with the name that occurs twice, if one does."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                f"the name {name!r} occurs twice",
                field=field,
                expected="give every row and every column a name of its own",
            )
        seen.add(name)
