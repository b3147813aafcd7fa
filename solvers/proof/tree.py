"""Nodes of a branch-and-bound tree, and the proof that the tree becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jettison.solvers.proof.branching import Fraction
from jettison.solvers.proof.exact_rows import Integers, Multipliers
from jettison.solvers.proof.proof_text import ProofText


@dataclass(eq=False, slots=True)
class Node:
    """Node of a branch-and-bound tree.

    Attributes
    ----------
    parent
        The parent node; None for the root.
    column, lower, upper
        The column of the branch that leads here, and its bounds; without meaning at the root.
    multipliers
        The multipliers that prove `value`.
    value
        The bound, multiplied by :math:`2^k`; None if the node has no point.
    fractions
        The columns at which it can be branched.
    basis
        The basis of its relaxation; None once it has been branched.
    relaxed
        The value of its relaxation.
    branched_at, children
        Once it has been branched: the column with the largest value of the first child, and both
        children.
    """

    parent: Node | None
    column: int = -1
    lower: int = 0
    upper: int = 0
    multipliers: Multipliers = field(default_factory=Multipliers.none)
    value: int | None = 0
    fractions: list[Fraction] = field(default_factory=list)
    basis: Any = None
    relaxed: float = 0.0
    branched_at: tuple[int, int] | None = None
    children: tuple[Node, ...] = ()

    def apply(self, lower: Integers, upper: Integers) -> None:
        """Narrow bounds of columns by the branches that lead here."""
        node = self
        while node.parent is not None:
            # Branches nearer to this node have narrower bounds.
            lower[node.column] = max(lower[node.column], node.lower)
            upper[node.column] = min(upper[node.column], node.upper)
            node = node.parent

    def is_closed(self, threshold: int | None) -> bool:
        """Tell whether the node is proved to have no point up to a threshold, or none at all."""
        return self.value is None or (threshold is not None and self.value > threshold)


@dataclass(frozen=True, eq=False, slots=True)
class Fixing:
    """Columns that are fixed in all points up to the threshold.

    Attributes
    ----------
    multipliers
        The multipliers that prove it.
    value
        The bound on the objective that they prove.
    columns
        Pairs of a column and its value.
    """

    multipliers: Multipliers
    value: int
    columns: list[tuple[int, int]]


def write_tree(
    text: ProofText,
    fixings: Sequence[Fixing],
    root: Node,
    threshold: int | None,
    names: Sequence[str],
) -> None:
    """Write fixings and a tree, in preorder, as far as a threshold needs them.

    Every node without children is closed.
    """
    for fixing in fixings:
        if threshold is not None and fixing.value > threshold:
            text.leaf(fixing.multipliers, is_empty=False)
            return
        text.fix(fixing.multipliers, fixing.columns)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_closed(threshold):
            text.leaf(node.multipliers, is_empty=node.value is None)
            continue
        assert node.branched_at is not None, "a node that is not closed has been branched"
        column, value = node.branched_at
        text.branch(names[column], value)
        waiting.extend(reversed(node.children))
