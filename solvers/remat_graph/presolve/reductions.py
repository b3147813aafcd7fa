"""The steps of `presolved`: what each takes from a graph, and how a schedule gets it back.

Nodes are positions in the graph that is presolved, whatever has been taken from it. A sequence of
computations stands for the schedule that frees as early as it can
(`GraphSchedule.from_computations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Step(Protocol):
    """One reduction that was made."""

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Return what the graph before the step computes, given what the one after it does."""
        ...


@dataclass(frozen=True, slots=True)
class FreedEdges:
    """Edges from a value of zero bytes, which stays once it is there."""

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
    """A node without a reader, computed just before or just after another one's first time."""

    node: int
    host: int
    before: bool

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Compute the node beside its host."""
        place = list(computations).index(self.host) + (not self.before)
        return [*computations[:place], self.node, *computations[place:]]


@dataclass(frozen=True, slots=True)
class InPrefix:
    """A node without a reader, up to which everything fits at once.

    `earlier` are the nodes before it, in order.
    """

    node: int
    earlier: tuple[int, ...]

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Compute everything up to the node once, and go on as before."""
        place = list(computations).index(self.earlier[-1]) + 1 if self.earlier else 0
        return [*self.earlier, self.node, *computations[place:]]


@dataclass(frozen=True, slots=True)
class Contracted:
    """A node that is computed just before its only reader, whose number both go by.

    `read_once` are inputs that are gone when the reader runs.
    """

    node: int
    reader: int
    read_once: frozenset[int]

    def restore(self, computations: Sequence[int]) -> list[int]:
        """Compute both, and hold the reader's value rather than an input read once."""
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
