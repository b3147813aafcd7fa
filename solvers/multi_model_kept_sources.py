"""Recomputed feature maps that stay in memory until their own use, where there is room for them.

A feature map that is computed again as a source of another one, and has its own backward use later,
need not be computed a second time for it. The rounds are put in order twice: first without such
feature maps, and then with those that fit beside everything that the first order needs. The second
order needs no more: what it recomputes before an operator is part of what the first recomputes
there, and what is kept is counted wherever the first order does not have it in memory anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


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
        self._needs_bytes = needs_bytes
        self._memory_bytes = memory_bytes

    def keep(self, place: int, size_bytes: int, position: int, first_backward: int) -> bool:
        """Keep a source recomputed before backward operator `position` if it fits; tell whether.

        It is to stay until `first_backward`, its own first backward operator.
        """
        gaps = list(self._gaps(place, position, first_backward))
        most_bytes = self._memory_bytes - size_bytes
        if any(max(self._needs_bytes[start:end]) > most_bytes for start, end in gaps):
            return False
        for start, end in gaps:
            for at in range(start, end):
                self._needs_bytes[at] += size_bytes
        return True

    def _gaps(self, place: int, position: int, first_backward: int) -> Iterator[tuple[int, int]]:
        """Yield where the first order does not have the feature map, as ranges of computations."""
        begun = self._first.backward_at[position - 1] if position else -1
        ended = self._first.backward_at[first_backward]
        reached = ended
        for first, last in self._first.spans[place]:
            if begun < first <= ended:
                if reached < first:
                    yield reached, first
                reached = last + 1
        if reached < ended:
            yield reached, ended
