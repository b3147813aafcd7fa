"""Importer of graphs in networkx's node-link JSON, as Checkmate and MOCCASIN publish them.

The document is an object with the lists ``nodes`` and ``links`` (or ``edges``, as networkx writes
since version 3.4); an edge has ``source`` and ``target``, or ``"0"`` and ``"1"``. A node is
identified by its ``id`` or, where no node has one, by its ``name``. Two sets of attributes are
read:

* Checkmate's: ``cost_cpu`` (time), ``cost_ram`` (bytes), ``backward``;
* MOCCASIN's: ``duration``, ``out_cost`` (bytes); and ``graph.order``, a topological order that
  becomes the order of the nodes.

Without ``graph.order`` the order of the file is kept where it is topological, and repaired where
it is not. Other attributes are ignored. Edges that stand several times, as in a multigraph, count
once. No value is marked to be kept: a node that nothing reads is freed at once. Nodes that share
a name but not an identifier get the identifier in brackets behind the name.

networkx itself is not needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_json
from jettison.instances.core.names import checked_name
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.topological_order import find_cycle, topological_order
from jettison.instances.core.units import checked_amount
from jettison.instances.importers.exact_numbers import exact_number, whole_bytes
from jettison.instances.remat_graph.graph import Graph, Node


class _Dialect(NamedTuple):
    """Names of the attributes for time and bytes."""

    time: str
    size: str


_DIALECTS = (_Dialect("cost_cpu", "cost_ram"), _Dialect("duration", "out_cost"))
_EDGE_ENDS = (("source", "target"), ("0", "1"))


def import_networkx_graph(path: str | Path, *, time_unit_ns: int = 1) -> Graph:
    r"""Read a node-link JSON file as a graph. :math:`O(n \log n + |E|)`.

    Parameters
    ----------
    path
        The file.
    time_unit_ns
        Nanoseconds in one unit of the times of the file. The published files do not say what
        their unit is: with the default, 1, ratios of times are right and nothing more. Times that
        are not whole nanoseconds are rounded to the nearest, half to even, and never cut off.

    Raises
    ------
    InputError
        If the file cannot be read or is not a directed node-link graph, a field is missing or
        not a non-negative number, a size is not a whole number of bytes, an edge names an unknown
        node, the edges form a cycle, or ``graph.order`` is not a topological order of all nodes;
        the message names the file and the field.
    """
    checked_amount(time_unit_ns, "time_unit_ns", "nanoseconds")
    if time_unit_ns == 0:
        raise InputError(
            "0 is not a unit of time", field="time_unit_ns", expected="write 1 or more nanoseconds"
        )
    path = Path(path)
    document = read_json(path)
    try:
        return _graph(document, path.stem, time_unit_ns)
    except InputError as error:
        raise error.within(source=str(path)) from None


def _graph(document: Any, stem: str, time_unit_ns: int) -> Graph:
    edges_key = _checked_edges_key(document)
    entries: list[dict[str, Any]] = document["nodes"]
    names = _names(entries)
    inputs = _inputs(document[edges_key], edges_key, names)
    cycle = find_cycle(inputs)
    if cycle:
        raise InputError(
            f"the edges form a cycle: {' -> '.join(cycle)}",
            field=edges_key,
            expected="remove one of these edges",
        )
    header = document.get("graph", {})
    if "order" in header:
        order = _checked_order(header["order"], names, inputs)
    else:
        order = topological_order(inputs)
    dialect = _dialect(entries[0])
    nodes: dict[str, Node] = {}
    for position, (name, entry) in enumerate(zip(names.values(), entries, strict=True)):
        field = f"nodes[{position}]"
        backward = entry.get("backward", False)
        if not isinstance(backward, bool):
            raise InputError(
                f"{backward!r} is not true or false",
                field=f"{field}.backward",
                expected="write true or false",
            )
        time = _number(entry, dialect.time, field) * time_unit_ns
        nodes[name] = Node(
            name=name,
            duration_ns=checked_amount(round(time), f"{field}.{dialect.time}", "nanoseconds"),
            output_bytes=_size(entry, dialect.size, field),
            inputs=tuple(inputs[name]),
            backward=backward,
        )
    return Graph(
        name=checked_name(header.get("name", stem), "graph.name"),
        nodes=tuple(nodes[name] for name in order),
        provenance=Provenance(
            source="networkx",
            note=f"one unit of time of the file counts as {time_unit_ns} ns",
        ),
    )


def _checked_edges_key(document: Any) -> str:
    """Check the shape of the document; return the key of the list of edges."""
    expected = 'give node-link JSON: an object with the lists "nodes" and "links" or "edges"'
    if not isinstance(document, dict):
        raise InputError("the document is not an object", field="document", expected=expected)
    found = [key for key in ("links", "edges") if key in document]
    if len(found) != 1:
        raise InputError(
            f"{len(found)} of the lists links and edges are there",
            field="links",
            expected=expected,
        )
    for key in ("nodes", found[0]):
        entries = document.get(key)
        if not isinstance(entries, list):
            raise InputError(f"there is no list {key}", field=key, expected=expected)
        for position, entry in enumerate(entries):
            if not isinstance(entry, dict):
                raise InputError(
                    "the entry is not an object", field=f"{key}[{position}]", expected=expected
                )
    if not document["nodes"]:
        raise InputError("the graph is empty", field="nodes", expected="give at least one node")
    if document.get("directed", True) is not True:
        raise InputError(
            "the graph is not directed",
            field="directed",
            expected="give a directed graph, with edges from an operation to those that read it",
        )
    if not isinstance(document.get("graph", {}), dict):
        raise InputError("the value is not an object", field="graph", expected=expected)
    return found[0]


def _names(entries: list[dict[str, Any]]) -> dict[int | str, str]:
    """Return a unique name for each identifier, in the order of the entries."""
    key = "id" if any("id" in entry for entry in entries) else "name"
    position_of: dict[int | str, int] = {}
    for position, entry in enumerate(entries):
        field = f"nodes[{position}].{key}"
        identifier = _identifier(entry, key, field)
        if identifier in position_of:
            raise InputError(
                f"{identifier!r} is also the {key} of nodes[{position_of[identifier]}]",
                field=field,
                expected=f"give every node its own {key}",
            )
        position_of[identifier] = position
    plain = {
        identifier: checked_name(
            str(entries[position].get("name", identifier)), f"nodes[{position}].name"
        )
        for identifier, position in position_of.items()
    }
    count = Counter(plain.values())
    return {
        identifier: name if count[name] == 1 else f"{name} [{identifier}]"
        for identifier, name in plain.items()
    }


def _identifier(entry: Mapping[str, Any], key: str, field: str) -> int | str:
    expected = "write an integer or a text"
    if key not in entry:
        raise InputError("the field is missing", field=field, expected=expected)
    identifier = entry[key]
    if isinstance(identifier, bool) or not isinstance(identifier, int | str):
        raise InputError(
            f"{str(identifier)[:40]!r} cannot identify a node", field=field, expected=expected
        )
    return identifier


def _inputs(
    edges: list[dict[str, Any]], edges_key: str, names: Mapping[int | str, str]
) -> dict[str, list[str]]:
    """Return the inputs of each node, by name."""
    inputs: dict[str, dict[str, None]] = {name: {} for name in names.values()}
    for position, edge in enumerate(edges):
        keys = _EDGE_ENDS[1] if "0" in edge else _EDGE_ENDS[0]
        ends = []
        for key in keys:
            field = f"{edges_key}[{position}].{key}"
            identifier = _identifier(edge, key, field)
            if identifier not in names:
                raise InputError(
                    f"{identifier!r} is not a node of the graph",
                    field=field,
                    expected="name a node of this graph",
                )
            ends.append(names[identifier])
        source, target = ends
        inputs[target][source] = None
    return {name: list(sources) for name, sources in inputs.items()}


def _checked_order(
    order: Any, names: Mapping[int | str, str], inputs: Mapping[str, list[str]]
) -> list[str]:
    field = "graph.order"
    expected = "list each node once, after all that it reads, or leave the order out"
    if not isinstance(order, list):
        raise InputError("the value is not a list", field=field, expected=expected)
    done: dict[str, None] = {}
    for position, value in enumerate(order):
        where = f"{field}[{position}]"
        identifier = _identifier({"order": value}, "order", where)
        if identifier not in names:
            raise InputError(
                f"{identifier!r} is not a node of the graph", field=where, expected=expected
            )
        name = names[identifier]
        if name in done:
            raise InputError(f"{identifier!r} stands twice", field=where, expected=expected)
        for source in inputs[name]:
            if source not in done:
                raise InputError(
                    f"{name!r} comes before {source!r}, which it reads",
                    field=where,
                    expected=expected,
                )
        done[name] = None
    if len(done) != len(names):
        raise InputError(
            f"{len(names) - len(done)} nodes are missing", field=field, expected=expected
        )
    return list(done)


def _dialect(entry: Mapping[str, Any]) -> _Dialect:
    for dialect in _DIALECTS:
        if dialect.time in entry:
            return dialect
    raise InputError(
        "the node has no time",
        field="nodes[0]",
        expected="give every node cost_cpu and cost_ram, or duration and out_cost",
    )


def _number(entry: Mapping[str, Any], key: str, field: str) -> Fraction:
    where = f"{field}.{key}"
    if key not in entry:
        raise InputError(
            "the field is missing", field=where, expected="write a non-negative number"
        )
    return exact_number(entry[key], where)


def _size(entry: Mapping[str, Any], key: str, field: str) -> int:
    return whole_bytes(_number(entry, key, field), f"{field}.{key}")
