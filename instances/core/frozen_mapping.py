"""Immutable mapping that can be copied and sent to other processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class FrozenMapping(Mapping[Key, Value]):
    """Immutable mapping for the fields of frozen records.

    ``types.MappingProxyType`` can be neither copied nor pickled, so that no record that holds one
    could be handed to another process.

    Parameters
    ----------
    entries
        The keys and values; they are copied, so that later changes do not show.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[Key, Value]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: Key) -> Value:
        """Return the value of a key."""
        return self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        """Go through the keys, in the order in which they were given."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._entries)

    def __repr__(self) -> str:
        """Return the text of the dict with the same entries."""
        return repr(self._entries)
