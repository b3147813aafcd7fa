"""Fixings of the windowed models: facts about some fastest schedule that shrink the model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowFixings:
    """Fixings: decisions that some fastest schedule takes; `frontier` has their rows.

    Nodes are positions in the graph, from 0.

    Attributes
    ----------
    computed_once
        Nodes that are never computed again.
    twins
        Pairs of nodes, the earlier one first: after both have been computed for the first time, the
        earlier one is in memory only while the later one is.
    """

    computed_once: frozenset[int] = frozenset()
    twins: tuple[tuple[int, int], ...] = ()
