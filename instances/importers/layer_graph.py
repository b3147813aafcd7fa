"""Importer of the layer graphs of a training step that Device Placement's authors published.

The file is JSON. Each of its ``nodes`` has ``id``, ``fpgaLatency`` (milliseconds: the time on a
GPU, whatever the name says), ``size`` (bytes), ``isBackwardNode`` and ``colorClass``, which a
layer's forward and backward node share; each of its ``edges`` has ``sourceId``, ``destId`` and
``size`` (bytes). The rest is ignored, the times on a CPU above all, which are ten times those on
the GPU.

What it says is what a layer profile of PipeDream says, and `layer_profile_steps` has what that
means here; the edges are to be read with care:

* No edge leads from a forward to a backward node: what is saved is not in the file.
* For an edge from layer a to layer b there is one from the backward node of a to that of b,
  although the gradient goes the other way. The first has the size of the value of a, the second
  that of the value of b. All sizes given for a value must be equal.
* The ``size`` of a node is that of its value and its parameters together.

A layer that reads nothing is an input of the step if it has no backward time and no parameters: its
forward time is that of loading the batch. Other graphs of the same repository are refused: those of
inference have no backward nodes, and the times of those of operators are no GPU's.

Source: Tarnawski et al., Efficient Algorithms for Device Placement of DNN Graph Operators, NeurIPS
2020, github.com/msr-fiddle/dnn-partitioning, ``throughput-inputs/LayerGraphs``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import parse_json, read_text
from jettison.instances.core.units import LARGEST_AMOUNT, NANOSECOND_UNITS
from jettison.instances.importers.exact_numbers import (
    exact_number,
    whole_bytes,
    whole_nanoseconds,
)
from jettison.instances.importers.layer_graph_published import NOTE, PUBLISHED
from jettison.instances.importers.layer_profile import Layer, Profile
from jettison.instances.importers.layer_profile_steps import chain_of, graph_of
from jettison.instances.importers.published_file import origin_of
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph

_SHAPE = 'give a layer graph: an object with the lists "nodes" and "edges"'
_PAIRS = "give a training graph of layers, a forward and a backward node in each class"


def import_layer_graph(path: str | Path) -> Graph:
    """Read a layer graph as a graph: forward operations, then backward ones in reverse.

    Raises
    ------
    InputError
        If the file cannot be read or is not of this form, nodes do not come in pairs, edges are
        not the same in both passes or form a cycle, or sizes of a value differ; the message names
        the file and the field.
    """
    return graph_of(_read(Path(path)))


def import_layer_graph_chain(path: str | Path) -> Chain:
    """Read a layer graph as a chain: one stage per articulation point, and a loss without cost.

    Raises
    ------
    InputError
        As `import_layer_graph`.
    """
    return chain_of(_read(Path(path)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """Node of the file; `field` is its place there."""

    field: str
    identifier: int
    is_backward: bool
    color: int
    duration_ns: int
    size_bytes: int


def _read(path: Path) -> Profile:
    text = read_text(path)
    document = parse_json(text, str(path))
    try:
        nodes = [
            _node(entry, f"nodes[{place}]")
            for place, entry in enumerate(_entries(document, "nodes"))
        ]
        pairs = _pairs(nodes)
        sizes, edges = _values(_entries(document, "edges"), nodes)
        layers = {
            str(forward.identifier): _layer(forward, backward, sizes)
            for forward, backward in pairs.values()
        }
        named = {(str(source), str(target)): field for (source, target), field in edges.items()}
        return Profile.of(path.stem, origin_of(text, PUBLISHED, NOTE), layers, named)
    except InputError as error:
        raise error.within(source=str(path)) from None


def _entries(document: Any, key: str) -> list[dict[str, Any]]:
    entries = document.get(key) if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise InputError(f"there is no list {key}", field=key, expected=_SHAPE)
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError("the entry is not an object", field=f"{key}[{place}]", expected=_SHAPE)
    return entries


def _given(entry: Mapping[str, Any], key: str, field: str) -> Any:
    if key not in entry:
        raise InputError("the field is missing", field=f"{field}.{key}", expected="write a number")
    return entry[key]


def _node(entry: Mapping[str, Any], field: str) -> _Node:
    direction = _given(entry, "isBackwardNode", field)
    if direction not in (0, 1):
        raise InputError(
            f"{str(direction)[:40]!r} is not true or false",
            field=f"{field}.isBackwardNode",
            expected="write 1 for a backward node, or 0",
        )
    where = f"{field}.fpgaLatency"
    milliseconds = exact_number(_given(entry, "fpgaLatency", field), where)
    return _Node(
        field=field,
        identifier=_number(entry, "id", field),
        is_backward=bool(direction),
        color=_number(entry, "colorClass", field),
        duration_ns=whole_nanoseconds(milliseconds, where, NANOSECOND_UNITS["ms"]),
        size_bytes=_size(entry, field),
    )


def _number(entry: Mapping[str, Any], key: str, field: str) -> int:
    number = _given(entry, key, field)
    if type(number) is not int or not 0 <= number <= LARGEST_AMOUNT:
        raise InputError(
            f"{str(number)[:40]!r} is not a whole number",
            field=f"{field}.{key}",
            expected="write a whole number, 0 or more",
        )
    return number


def _size(entry: Mapping[str, Any], field: str) -> int:
    where = f"{field}.size"
    return whole_bytes(exact_number(_given(entry, "size", field), where), where)


def _pairs(nodes: list[_Node]) -> dict[int, tuple[_Node, _Node]]:
    """Return the forward and the backward node of each layer, by its color."""
    classes: dict[int, list[_Node]] = defaultdict(list)
    seen: set[int] = set()
    for node in nodes:
        if node.identifier in seen:
            raise InputError(
                f"{node.identifier} stands twice",
                field=f"{node.field}.id",
                expected="give every node its own id",
            )
        seen.add(node.identifier)
        classes[node.color].append(node)
    pairs = {}
    for color, members in classes.items():
        members.sort(key=lambda node: node.is_backward)
        if [node.is_backward for node in members] != [False, True]:
            backward = sum(node.is_backward for node in members)
            forward = len(members) - backward
            raise InputError(
                f"class {color} has {forward} forward and {backward} backward nodes",
                field=f"{members[0].field}.colorClass",
                expected=_PAIRS,
            )
        pairs[color] = (members[0], members[1])
    return pairs


def _values(
    entries: list[dict[str, Any]], nodes: list[_Node]
) -> tuple[dict[int, int], dict[tuple[int, int], str]]:
    """Return the sizes of values and the edges of layers, by forward nodes; and check the edges."""
    by_identifier = {node.identifier: node for node in nodes}
    layer_of = {node.color: node.identifier for node in nodes if not node.is_backward}
    given: dict[int, tuple[int, str]] = {}
    edges: dict[bool, dict[tuple[int, int], str]] = {False: {}, True: {}}
    for place, entry in enumerate(entries):
        field = f"edges[{place}]"
        source, target = (
            _end(by_identifier, _given(entry, key, field), f"{field}.{key}")
            for key in ("sourceId", "destId")
        )
        if source.is_backward != target.is_backward:
            raise InputError(
                "the edge joins a forward and a backward node",
                field=field,
                expected="give a graph of layers; those of operators are not read",
            )
        ends = layer_of[source.color], layer_of[target.color]
        value = ends[1] if source.is_backward else ends[0]
        size_bytes = _size(entry, field)
        known_bytes, known_from = given.setdefault(value, (size_bytes, field))
        if size_bytes != known_bytes:
            raise InputError(
                f"{size_bytes} for the value of node {value}, {known_bytes} in {known_from}",
                field=f"{field}.size",
                expected="give every value one size",
            )
        edges[source.is_backward].setdefault(ends, field)
    for this, other, name in ((False, True, "backward"), (True, False, "forward")):
        for ends, field in edges[this].items():
            if ends not in edges[other]:
                raise InputError(
                    f"layer {ends[0]} to {ends[1]}: there is no such edge between {name} nodes",
                    field=field,
                    expected="give the same edges, in the same direction, to both passes",
                )
    return {value: size_bytes for value, (size_bytes, _) in given.items()}, edges[False]


def _end(nodes: Mapping[int, _Node], identifier: Any, field: str) -> _Node:
    if type(identifier) is not int or identifier not in nodes:
        raise InputError(
            f"{str(identifier)[:40]!r} is not a node of the graph",
            field=field,
            expected="write the id of a node",
        )
    return nodes[identifier]


def _layer(forward: _Node, backward: _Node, sizes: Mapping[int, int]) -> Layer:
    if backward.size_bytes != forward.size_bytes:
        raise InputError(
            f"{backward.size_bytes}, where {forward.field} has {forward.size_bytes}",
            field=f"{backward.field}.size",
            expected="give both nodes of a layer the size of its value and its parameters",
        )
    if forward.identifier not in sizes:
        raise InputError(
            "no edge has the size of its value",
            field=forward.field,
            expected="give every node an edge",
        )
    output_bytes = sizes[forward.identifier]
    if output_bytes > forward.size_bytes:
        raise InputError(
            f"{forward.size_bytes} is less than its value, {output_bytes}",
            field=f"{forward.field}.size",
            expected="write the size of the value and the parameters together",
        )
    weight_bytes = forward.size_bytes - output_bytes
    return Layer(
        name=f"node{forward.identifier}",
        may_be_input=backward.duration_ns + weight_bytes == 0,
        forward_ns=forward.duration_ns,
        backward_ns=backward.duration_ns,
        output_bytes=output_bytes,
        weight_bytes=weight_bytes,
    )
