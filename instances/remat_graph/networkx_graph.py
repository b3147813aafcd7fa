"""Graphs of networkx as graphs of operations, by the attributes of their nodes.

networkx itself is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.topological_order import find_cycle, topological_order
from jettison.instances.remat_graph.graph import Graph, Node

# The names and the inputs are those of the graph itself.
_FIELDS = [field.name for field in fields(Node) if field.name not in {"name", "inputs"}]


def graph_of_networkx(source: Any, name: str, provenance: Provenance) -> Graph:
    """Return the graph of a ``networkx.DiGraph``; see `Graph.from_networkx`.

    Raises
    ------
    InputError
        If it has no directions, an attribute is missing, unknown or wrong, two nodes have one name,
        or the edges form a cycle.
    """
    if not source.is_directed():
        raise InputError(
            "an undirected graph",
            field="graph",
            expected="give a networkx.DiGraph: edges lead from a value to what reads it",
        )
    attributes = {str(node): dict(found) for node, found in source.nodes(data=True)}
    if len(attributes) != source.number_of_nodes():
        raise InputError(
            "two nodes have the same name as text", field="nodes", expected="rename one of them"
        )
    inputs: dict[str, list[str]] = {node: [] for node in attributes}
    for tail, head in ((str(edge[0]), str(edge[1])) for edge in source.edges()):
        if tail not in inputs[head]:
            inputs[head].append(tail)
    cycle = find_cycle(inputs)
    if cycle:
        raise InputError(
            f"the edges form a cycle: {' -> '.join(cycle)}",
            field="edges",
            expected="remove one of these edges",
        )
    nodes = [_node(node, attributes[node], inputs[node]) for node in topological_order(inputs)]
    return Graph(name=name, nodes=tuple(nodes), provenance=provenance)


def _node(name: str, attributes: Mapping[str, Any], inputs: list[str]) -> Node:
    for attribute in attributes:
        if attribute not in _FIELDS:
            raise InputError(
                f"{attribute!r} is not a field of a node",
                field=f"nodes[{name!r}]",
                expected=f"{suggestion(str(attribute), _FIELDS)}choose among {', '.join(_FIELDS)}",
            )
    # An operator with several results has the bytes of each of them.
    needed = ["duration_ns", *([] if "results" in attributes else ["output_bytes"])]
    missing = [field for field in needed if field not in attributes]
    if missing:
        raise InputError(
            f"there is no {missing[0]}",
            field=f"nodes[{name!r}]",
            expected=f"give every node {' and '.join(needed)}",
        )
    try:
        return Node(name=name, inputs=tuple(inputs), **attributes)
    except InputError as error:
        raise error.within(prefix=f"nodes[{name!r}]") from None
