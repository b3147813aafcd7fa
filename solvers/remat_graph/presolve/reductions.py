"""Reduction steps of `presolved`, each with the way to restore schedules of the graph before it.

Nodes are positions in the graph that is presolved, whatever has been taken from it. A sequence of
computations stands for the schedule that frees as early as it can
(`GraphSchedule.from_computations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Step(Protocol):
    """Reduction that was made."""

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Return computations on the graph before the step, given those on the graph after it."""
        ...


@dataclass(frozen=True, slots=True)
class FreedEdges:
    """Removal of edges from a value of zero bytes, which stays once it is in memory."""

    node: int

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Compute the node once."""
        found: list[int] = []
        known = False
        for node in computations:
            if node != self.node or not known:
                found.append(node)
            known = known or node == self.node
        return found


@dataclass(frozen=True, slots=True)
class BesideHost:
    """Removal of an unread node, computed just before or after another node's first computation."""

    node: int
    host: int
    before: bool

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Compute the node beside its host."""
        place = list(computations).index(self.host) + (not self.before)
        return [*computations[:place], self.node, *computations[place:]]


@dataclass(frozen=True, slots=True)
class InPrefix:
    """Removal of an unread node up to which everything fits in memory at once.

    `earlier` are the nodes before it, in order.
    """

    node: int
    earlier: tuple[int, ...]

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Compute everything up to the node once, and continue as before."""
        place = list(computations).index(self.earlier[-1]) + 1 if self.earlier else 0
        return [*self.earlier, self.node, *computations[place:]]


@dataclass(frozen=True, slots=True)
class Contracted:
    """Contraction of a node with its only reader, under the reader's number.

    `read_once` are inputs that are gone when the reader runs.
    """

    node: int
    reader: int
    read_once: frozenset[int]

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Compute both nodes, and hold the reader's value rather than an input read once."""
        found: list[int] = []
        # Inputs that have been computed since the reader was.
        fresh: set[int] = set()
        for node in computations:
            if node == self.reader:
                if not self.read_once <= fresh:
                    continue
                fresh.clear()
                found.append(self.node)
            elif node in self.read_once:
                fresh.add(node)
            found.append(node)
        return found
