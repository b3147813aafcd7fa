r"""Choice of one strategy for each node within a memory limit, in exact integers.

The model of `formulations/sharding/ilp.py`, whose docstring has every row. Tables between the same
two nodes are added up, the one that comes first in the instance is the first. Columns, all binary,
for in the point of a choice each is 0 or 1:

* ``s_i_a``: strategy :math:`a` of node :math:`i`; only where it is allowed;
* ``e_i_j_a_b``: it is chosen, and :math:`b` of node :math:`j`; only where the pair is allowed.

Rows, in this order: ``one_i`` of all nodes; for each pair of nodes ``from_i_j_a`` and ``to_i_j_b``;
then ``memory_t`` for each time :math:`t` at which values become live, if one of the live values
ends before the next ones begin: these are the maximal sets of values that are live together. The
least usage of each node is taken off both sides of (memory), which by (one) changes nothing, and
rows that no choice exceeds are left out.

Version 1. No options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import CertificateError
from ..header_fields import (
    Fields,
    check_kind,
    integer_field,
    list_field,
    object_field,
    only_fields,
    text_field,
)
from ..integer_model import IntegerModel
from ..stated_model import StatedModel

_MOST_NODES = 200_000
# The memory is that of the resources.
_FIELDS = {"nodes", "edges", "usage_limit_bytes"}
_NODE_FIELDS = {"name", "interval", "costs_ns", "usages_bytes"}
_EDGE_FIELDS = {"first", "second", "costs_ns"}
# Nodes times rows of memory.
_MOST_STEPS = 20_000_000

Costs = list[int | None]
Table = list[Costs]


@dataclass(frozen=True, slots=True)
class _Node:
    """One node: when its value is in memory, and cost and usage of each strategy."""

    begin: int
    end: int
    costs_ns: Costs
    usages_bytes: list[int]

    @property
    def allowed(self) -> list[int]:
        return [a for a, cost in enumerate(self.costs_ns) if cost is not None]


def strategy_choice(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model; linear in the size of all tables and of the rows of memory.

    Raises
    ------
    CertificateError
        If the instance is no strategy graph, or the memory or an option is not what the model
        needs.
    """
    only_fields(resources, {"memory_bytes"}, "resources")
    only_fields(options, set(), "the formulation")
    check_kind(instance, "strategy-graph", _FIELDS)
    nodes, position_of = _nodes(instance)
    model = IntegerModel()
    s: list[dict[int, int]] = []
    for i, node in enumerate(nodes):
        costs = [(a, cost) for a, cost in enumerate(node.costs_ns) if cost is not None]
        s.append({a: model.add_column(f"s_{i}_{a}", 0, 1, cost=cost) for a, cost in costs})
    for i, columns in enumerate(s):
        model.equal(f"one_{i}", [*columns.values()], [1] * len(columns), 1)
    for (first, second), table in _tables(instance, nodes, position_of).items():
        _add_pair(model, first, second, table, s)
    _add_memory(model, nodes, s, integer_field(resources, "memory_bytes"))
    return StatedModel(model, "all schedules")


def _nodes(instance: Fields) -> tuple[list[_Node], dict[str, int]]:
    entries = list_field(instance, "nodes")
    if not 0 < len(entries) <= _MOST_NODES or not all(isinstance(e, dict) for e in entries):
        raise CertificateError(f"a graph has 1 to {_MOST_NODES} nodes, each an object")
    nodes: list[_Node] = []
    position_of: dict[str, int] = {}
    for entry in entries:
        only_fields(entry, _NODE_FIELDS, f"node {len(nodes)}")
        name = text_field(entry, "name")
        if name in position_of:
            raise CertificateError(f"two nodes have the name {name[:60]!r}")
        position_of[name] = len(nodes)
        times = list_field(entry, "interval")
        if len(times) != 2:
            raise CertificateError(f"the interval of node {len(nodes)} is not a pair")
        begin, end = (integer_field({"interval": time}, "interval") for time in times)
        costs = _costs(entry)
        usages = [
            integer_field({"usages_bytes": usage}, "usages_bytes")
            for usage in list_field(entry, "usages_bytes")
        ]
        if begin > end or not costs or len(costs) != len(usages):
            raise CertificateError(
                f"node {len(nodes)} ends before it begins, has no costs, or its lists differ"
            )
        nodes.append(_Node(begin, end, costs, usages))
    return nodes, position_of


def _costs(entry: Fields) -> Costs:
    return [
        None if cost is None else integer_field({"costs_ns": cost}, "costs_ns")
        for cost in list_field(entry, "costs_ns")
    ]


def _tables(
    instance: Fields, nodes: list[_Node], position_of: Mapping[str, int]
) -> dict[tuple[int, int], Table]:
    tables: dict[tuple[int, int], Table] = {}
    for place, item in enumerate(list_field(instance, "edges")):
        entry = object_field({"edge": item}, "edge")
        only_fields(entry, _EDGE_FIELDS, f"edge {place}")
        names = [text_field(entry, "first"), text_field(entry, "second")]
        if not all(name in position_of for name in names) or names[0] == names[1]:
            raise CertificateError(f"edge {place} does not join two nodes of the graph")
        first, second = (position_of[name] for name in names)
        costs, width = _costs(entry), len(nodes[second].costs_ns)
        if len(costs) != width * len(nodes[first].costs_ns):
            raise CertificateError(f"edge {place} has {len(costs)} costs")
        table = [costs[start : start + width] for start in range(0, len(costs), width)]
        if first > second:
            first, second = second, first
            table = [list(column) for column in zip(*table, strict=True)]
        known = tables.get((first, second))
        if known is not None:
            table = [
                [None if x is None or y is None else x + y for x, y in zip(one, other, strict=True)]
                for one, other in zip(known, table, strict=True)
            ]
        tables[first, second] = table
    return tables


def _add_pair(
    model: IntegerModel, first: int, second: int, table: Table, s: list[dict[int, int]]
) -> None:
    of_row: dict[int, list[int]] = {a: [] for a in s[first]}
    of_column: dict[int, list[int]] = {b: [] for b in s[second]}
    for a in s[first]:
        for b in s[second]:
            cost = table[a][b]
            if cost is not None:
                column = model.add_column(f"e_{first}_{second}_{a}_{b}", 0, 1, cost=cost)
                of_row[a].append(column)
                of_column[b].append(column)
    for word, sums, node in (("from", of_row, first), ("to", of_column, second)):
        for strategy, columns in sums.items():
            coefficients = [*([1] * len(columns)), -1]
            name = f"{word}_{first}_{second}_{strategy}"
            model.equal(name, [*columns, s[node][strategy]], coefficients, 0)


def _add_memory(
    model: IntegerModel, nodes: list[_Node], s: list[dict[int, int]], memory_bytes: int
) -> None:
    times = _times(nodes)
    if len(times) * len(nodes) > _MOST_STEPS:
        raise CertificateError(f"{len(times)} rows of memory of {len(nodes)} nodes are too many")
    # For each node its least usage, and the further usage of each strategy, by column.
    least = [min((node.usages_bytes[a] for a in node.allowed), default=0) for node in nodes]
    beyond = [
        {s[i][a]: more for a in node.allowed if (more := node.usages_bytes[a] - least[i])}
        for i, node in enumerate(nodes)
    ]
    for time in times:
        live = [i for i, node in enumerate(nodes) if node.begin <= time < node.end]
        room = memory_bytes - sum(least[i] for i in live)
        if sum(max(beyond[i].values(), default=0) for i in live) > room:
            terms = [term for i in live for term in beyond[i].items()]
            columns = [column for column, _ in terms]
            model.at_most(f"memory_{time}", columns, [more for _, more in terms], room)


def _times(nodes: list[_Node]) -> list[int]:
    """Return a time of each largest set of values that are live together."""
    live = [node for node in nodes if node.begin < node.end]
    beginnings = sorted({node.begin for node in live})
    ends = sorted({node.end for node in live})
    times, place = [], 0
    for number, begin in enumerate(beginnings):
        while ends[place] <= begin:
            place += 1
        if number + 1 == len(beginnings) or ends[place] <= beginnings[number + 1]:
            times.append(begin)
    return times
