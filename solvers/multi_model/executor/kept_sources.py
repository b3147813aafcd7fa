"""Recomputed feature maps that stay in memory until their own use, where memory allows it.

A feature map that is recomputed as a source of another one, and has its own backward use later,
need not be recomputed for that use if it stays. A round is ordered at least twice: first without
such feature maps, and then with those that fit beside everything that the first order needs.

The first order is one in which swapped feature maps take the place of recomputed ones: it has few
computations, and what fits beside the operators usually fits beside the recomputations as well.
Where it does not, the first order is the one in which no source stays. Then the second needs no
more memory: what it recomputes before an operator is part of what the first recomputes there, and a
kept source is counted wherever the first order does not have it in memory anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class RecomputationSpans:
    """Intervals in which recomputed feature maps are in memory, by indices of computations.

    Attributes
    ----------
    backward_at
        The index of each backward operator, by position.
    spans
        For each feature map and each recomputation of it, the first and the last computation with
        it in memory.
    """

    backward_at: list[int] = field(default_factory=list)
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, place: int, first: int, last: int) -> None:
        """Record that a feature map is in memory because it was recomputed."""
        self.spans.setdefault(place, []).append((first, last))


class KeptSources:
    """Choice of the recomputed sources that stay in memory.

    Parameters
    ----------
    first_order
        The recomputations of the first order.
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
        # Usually it fits beside all computations, and one test of the maximum is enough.
        fits = not gaps or needs_bytes[gaps[0][0] : gaps[-1][1]].max() <= most_bytes
        if not fits and any(needs_bytes[start:end].max() > most_bytes for start, end in gaps):
            return False
        for start, end in gaps:
            needs_bytes[start:end] += size_bytes
        return True

    def _gaps(self, place: int, position: int, first_backward: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of computations in which the first order lacks the feature map."""
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
