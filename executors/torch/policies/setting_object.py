"""Object that stands in a module of settings of PyTorch, which copies them when it compiles."""

from __future__ import annotations

from typing import Any


class SettingObject:
    """Setting with a record of graphs, which a copy of the settings shares and a pickle lacks.

    Inductor copies all settings while it compiles, and pickles them for its cache and its
    processes. Nodes and fake tensors of a graph can be neither copied nor pickled.

    Attributes
    ----------
    graphs
        The record; empty in an object that was pickled.
    """

    graphs: list[Any]

    def __deepcopy__(self, memo: dict[int, Any]) -> SettingObject:
        """Return the object itself, which goes on with its record."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the record."""
        return {**vars(self), "graphs": []}
