"""Choice among the bundled instances by kind, device and source, for `jettison list instances`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from jettison.instances.bundled_entries import CatalogEntry
from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion

Matches = Callable[[CatalogEntry], bool]


def chosen_entries(
    entries: Sequence[CatalogEntry],
    *,
    kind: str | None = None,
    device: str | None = None,
    source: str | None = None,
) -> tuple[CatalogEntry, ...]:
    """Return the entries that match everything that is given, in their order.

    Parameters
    ----------
    entries
        Those to choose from.
    kind, source
        The kind of instance, and ``measured``, ``imported`` or ``modelled``.
    device
        Name of the device, or words of it that follow each other: ``A100`` is A100-40 too, and
        ``H200`` is NVIDIA H200. Upper and lower case are the same.

    Raises
    ------
    InputError
        If nothing has such a kind, device or source, or nothing has all of them; the message names
        what there is.
    """
    found: Iterable[CatalogEntry] = entries
    if kind is not None:
        found = _matching(entries, "kind", kind, lambda entry: entry.kind, _is)
    if device is not None:
        found = _matching(found, "device", device, lambda entry: entry.device_label, _names)
    if source is not None:
        found = _matching(found, "source", source, lambda entry: entry.origin, _is)
    return tuple(found)


def _matching(
    entries: Iterable[CatalogEntry],
    field: str,
    wanted: str,
    of: Callable[[CatalogEntry], str],
    matches: Callable[[str, str], bool],
) -> tuple[CatalogEntry, ...]:
    """Return the entries whose field matches; `of` reads the field."""
    entries = tuple(entries)
    found = tuple(entry for entry in entries if matches(of(entry), wanted))
    if not found:
        there = sorted({of(entry) for entry in entries})
        raise InputError(
            f"{wanted[:80]!r} is the {field} of none of these instances",
            field=field,
            expected=f"{suggestion(wanted, there)}choose one of: {', '.join(there)}",
        )
    return found


def _is(value: str, wanted: str) -> bool:
    return value == wanted


def _names(device: str, wanted: str) -> bool:
    """Tell whether a device has this name, or one in which these words follow each other."""
    words, asked = (re.split("[ -]", name.lower()) for name in (device, wanted.strip()))
    places = range(len(words) - len(asked) + 1)
    return any(words[place : place + len(asked)] == asked for place in places)
