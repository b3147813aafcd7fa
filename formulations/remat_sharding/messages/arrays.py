"""Graph of states as flat arrays: nodes, edges, memory rows, in the form that the kernel takes.

A node is a choice among pairs of a place (a strategy) and a kind (what a plan does with the value);
each pair that is allowed has a cost. An edge joins a source and its reader: a reader of a type
forbids types of the source, and pays the table, row by class of the source's place and column by
class of the reader's, as many times as its type says. A memory row limits the sum of sizes, by
place, over the kinds that take memory there. A labelling that keeps all rows is what a plan
becomes, so that the least cost of labellings bounds the time of plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jettison.formulations.remat_sharding.strategy_columns import alike
from jettison.instances.remat_sharding.sharded_graph import Table

FORBIDDEN = -1


@dataclass(frozen=True)
class StateNode:
    """Node: its places, its kinds, and the cost of each pair, place by place; -1 forbids."""

    places: int
    kinds: int
    cost_ns: tuple[int, ...]


@dataclass(frozen=True)
class StateEdge:
    """Edge between a source and its reader.

    Attributes
    ----------
    source, reader
        The nodes.
    table
        The cost of each pair of places, None where it is forbidden. Without one nothing costs;
        `is_identity` then asks for equal places.
    times
        For each type of the reader, how often it pays the table. A type that pays it 0 times may
        have pairs that are forbidden.
    allowed
        For each type of the reader, and each of the source, whether they go together.
    source_type, reader_type
        The type of each kind.
    """

    source: int
    reader: int
    table: Table | None
    times: tuple[int, ...]
    allowed: tuple[tuple[bool, ...], ...]
    source_type: tuple[int, ...]
    reader_type: tuple[int, ...]
    is_identity: bool = False


@dataclass(frozen=True)
class StateSpan:
    """Rows, first to last, in which some kinds of a value take memory."""

    first: int
    last: int
    kinds: tuple[bool, ...]


@dataclass
class StateGraph:
    """Graph of states that is being written.

    Attributes
    ----------
    nodes, edges
        What was added.
    capacity_bytes
        The limit of each memory row.
    """

    nodes: list[StateNode] = field(default_factory=list)
    edges: list[StateEdge] = field(default_factory=list)
    capacity_bytes: list[int] = field(default_factory=list)
    _terms: list[tuple[int, tuple[int, ...], tuple[StateSpan, ...]]] = field(default_factory=list)

    def add_node(self, places: int, kinds: int, cost_ns: Sequence[int]) -> int:
        """Add a node, and return its number; edges lead from one to another in either direction."""
        self.nodes.append(StateNode(places, kinds, tuple(cost_ns)))
        return len(self.nodes) - 1

    def add_row(self, capacity_bytes: int) -> int:
        """Add a memory row, and return its number."""
        self.capacity_bytes.append(capacity_bytes)
        return len(self.capacity_bytes) - 1

    def add_sizes(self, node: int, sizes: Sequence[int], spans: Sequence[StateSpan]) -> None:
        """Add what a value takes, by the place of a node, in spans of rows."""
        if any(sizes) and spans:
            self._terms.append((node, tuple(sizes), tuple(spans)))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by the names of the kernel's arguments; linear in their size."""
        masks: dict[tuple[bool, ...], int] = {}
        spans = [
            (term, span.first, span.last, masks.setdefault(span.kinds, len(masks)))
            for term, (_, _, of_term) in enumerate(self._terms)
            for span in of_term
        ]
        parts = [_arrays_of(edge, self.nodes) for edge in self.edges]
        return {
            "places": _numbers(node.places for node in self.nodes),
            "kinds": _numbers(node.kinds for node in self.nodes),
            "cost": _amounts(cost for node in self.nodes for cost in node.cost_ns),
            "term_node": _numbers(node for node, _, _ in self._terms),
            "term_bytes": _amounts(size for _, sizes, _ in self._terms for size in sizes),
            "spans": np.array(spans, dtype=np.int32).reshape(-1, 4),
            "mask_kinds": _numbers(map(len, masks)),
            "mask_bytes": np.array([kind for mask in masks for kind in mask], dtype=np.uint8),
            "capacity": _amounts(self.capacity_bytes),
            "edges": np.array([part["shape"] for part in parts], dtype=np.int32).reshape(-1, 7),
            "classes": _numbers(number for part in parts for number in part["classes"]),
            "times": _amounts(number for edge in self.edges for number in edge.times),
            "ok": np.array(
                [ok for edge in self.edges for of_type in edge.allowed for ok in of_type],
                dtype=np.uint8,
            ),
            "table": _amounts(cost for part in parts for cost in part["table"]),
        }


def _arrays_of(edge: StateEdge, nodes: Sequence[StateNode]) -> Mapping[str, Sequence[int]]:
    source, reader = nodes[edge.source], nodes[edge.reader]
    table: list[int] = []
    if edge.is_identity:
        rows, columns = list(range(source.places)), list(range(reader.places))
        width = (source.places, reader.places)
    elif edge.table is None:
        rows, columns, width, table = [0] * source.places, [0] * reader.places, (1, 1), [0]
    else:
        of_rows, of_columns = alike(edge.table), alike(list(zip(*edge.table, strict=True)))
        rows, columns = _places_of(of_rows), _places_of(of_columns)
        width = (len(of_rows), len(of_columns))
        for same in of_rows:
            costs = [edge.table[same[0]][other[0]] for other in of_columns]
            table += [FORBIDDEN if cost is None else cost for cost in costs]
    types = (len(edge.allowed[0]), len(edge.times))
    return {
        "shape": (edge.source, edge.reader, *width, *types, edge.is_identity),
        "classes": [*rows, *edge.source_type, *columns, *edge.reader_type],
        "table": table,
    }


def _places_of(classes: Sequence[Sequence[int]]) -> list[int]:
    found = {place: number for number, same in enumerate(classes) for place in same}
    return [found[place] for place in range(len(found))]


def _numbers(values: object) -> np.ndarray:
    return np.array(list(values), dtype=np.int32)  # type: ignore[call-overload]


def _amounts(values: object) -> np.ndarray:
    return np.array(list(values), dtype=np.int64)  # type: ignore[call-overload]
