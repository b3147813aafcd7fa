"""Recomputed feature maps that stay in memory until their own use, where there is room for them.

A feature map that is computed again as a source of another one, and has its own backward use later,
need not be computed a second time for it. A round is put in order at least twice: first without
such feature maps, and then with those that fit beside everything that the first order needs.

The first order is one in which recomputed feature maps come back of themselves: it has few
computations, and what fits beside the operators most often fits beside the recomputations as well.
Where it does not, the first order is the one in which nothing stays. Then the second needs no more:
what it recomputes before an operator is part of what the first recomputes there, and what is kept
is counted wherever the first order does not have it in memory anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class RecomputationSpans:
    """Where the recomputations of an order are, by the indices of its computations.

    Attributes
    ----------
    backward_at
        The backward operators, by position.
    spans
        For each feature map, from when until when it is in memory after a recomputation, the
        computations at both ends included, for each time that it is recomputed.
    """

    backward_at: list[int] = field(default_factory=list)
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, place: int, first: int, last: int) -> None:
        """Note that a feature map is in memory because it was recomputed."""
        self.spans.setdefault(place, []).append((first, last))


class KeptSources:
    """Decides which recomputed sources stay.

    Parameters
    ----------
    first_order
        Where the recomputations of the first order are.
    needs_bytes
        What its computations need.
    memory_bytes
        The limit.
    """

    def __init__(
        self, first_order: RecomputationSpans, needs_bytes: list[int], memory_bytes: int
    ) -> None:
        self._first = first_order
        self._needs_bytes = np.array(needs_bytes, dtype=np.int64)
        self._memory_bytes = memory_bytes

    def keep(self, place: int, size_bytes: int, position: int, first_backward: int) -> bool:
        """Keep a source recomputed before backward operator `position` if it fits; tell whether.

        It is to stay until `first_backward`, its own first backward operator.
        """
        gaps = list(self._gaps(place, position, first_backward))
        most_bytes = self._memory_bytes - size_bytes
        needs_bytes = self._needs_bytes
        # Most often it fits everywhere, and one look at all of it is enough.
        fits = not gaps or needs_bytes[gaps[0][0] : gaps[-1][1]].max() <= most_bytes
        if not fits and any(needs_bytes[start:end].max() > most_bytes for start, end in gaps):
            return False
        for start, end in gaps:
            needs_bytes[start:end] += size_bytes
        return True

    def _gaps(self, place: int, position: int, first_backward: int) -> Iterator[tuple[int, int]]:
        """Yield where the first order does not have the feature map, as ranges of computations."""
        begun = self._first.backward_at[position - 1] if position else -1
        ended = self._first.backward_at[first_backward]
        reached = self._first.backward_at[position]
        for first, last in self._first.spans.get(place, ()):
            if begun < first <= ended:
                if reached < first:
                    yield reached, first
                reached = last + 1
        if reached < ended:
            yield reached, ended
