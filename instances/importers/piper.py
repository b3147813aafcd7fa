r"""Importer of Piper's profiles: the layers of a language model, with and without recomputation.

The file is JSON: ``nodes`` and ``edges``. A node has ``id``, ``name`` and ``TMPCs``, which gives
two ways to run the layer for each degree of tensor parallelism, ``vanilla`` and ``activation
recomp``. Each has ``timePerSample`` in seconds, forward and backward together, ``parameterSize`` in
bytes, and ``memoryUsageA``: the bytes in memory for each microbatch under way, of what the layer
reads and saves. An edge has ``sourceId`` and ``destId``.

**Times.** The second way runs the forward operation twice: it takes as long as it is slower. The
backward operation takes the rest of the first way.

**Memory.** The second way keeps nothing but what the layer reads. So what the first way has more,
and the layer's output, are the saved bytes. The output is what the next layer reads, less the
tensors of the step that it reads as well. ``memoryUsageB`` tells nothing of the first way but the
parameters and their gradients, so that overheads are 0.

**Structure.** Nodes into which no edge goes are tensors of the step: all are the input of the
chain, in memory all the time. The others must follow one another, since each becomes a stage; the
last is the loss, whose output is not counted. The sizes of the edges are not read: in the published
file they stand at other edges.

Sources: github.com/msr-fiddle/piper; Tarnawski, Narayanan, Phanishayee, Piper: Multidimensional
Planner for DNN Parallelization (NeurIPS 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import parse_json, read_text
from jettison.instances.core.names import checked_name
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import NANOSECOND_UNITS
from jettison.instances.importers.exact_numbers import exact_number, whole_bytes, whole_nanoseconds
from jettison.instances.importers.published_file import origin_of
from jettison.instances.remat_chain.chain import Chain, Stage

_WAYS = ("vanilla", "activation recomp")
_NOTE = (
    "Measured: the time of each layer, both operations together, with and without recomputation, "
    "and the bytes that it reads and saves; the forward operation takes the difference of the two "
    "times. Unknown: memory in use only while an operation runs, so that overheads are 0."
)
_PUBLISHED = MappingProxyType(
    {
        "cc126436a4c238ec14cad466d176a178e9a9aad1e187f1d2a3cdb8b8d5ab1d1a": Provenance(
            source="imported",
            repository="msr-fiddle/piper",
            commit="d7fc8cf",
            file="inputs/bert32a100.json",
            licence="MIT",
            device="A100",
            device_kind="cuda",
            model="bert-32",
            model_arguments={"framework": "Megatron", "layers": 32, "hidden": 1920},
            batch=8,
            sequence=512,
            dtype="float32",
            note=_NOTE,
        )
    }
)


class _Layer(NamedTuple):
    """One way to run a layer."""

    seconds: Fraction
    activation_bytes: int
    weight_bytes: int


class _Node(NamedTuple):
    """Layer or tensor of the step; `ways` are those without and with recomputation."""

    name: str
    field: str
    ways: tuple[_Layer, _Layer]


def import_piper(path: str | Path, *, tensor_parallel: int = 1) -> Chain:
    """Read a profile as a chain, a stage for each layer, with the share of one device.

    Parameters
    ----------
    path
        The file.
    tensor_parallel
        Devices that share each layer, one of the degrees in the file. Communication between them
        has bytes in the file and no time: it is left out.

    Raises
    ------
    InputError
        If the file cannot be read or is not of this form, a layer lacks the degree, is not slower
        or needs more memory with recomputation, or the layers do not follow one another; the
        message names the file and the field.
    """
    path = Path(path)
    text = read_text(path)
    try:
        return _chain(
            parse_json(text, str(path)),
            path.stem,
            tensor_parallel,
            origin_of(text, _PUBLISHED, _NOTE),
        )
    except InputError as error:
        raise error.within(source=str(path)) from None


def _chain(document: Any, stem: str, tensor_parallel: int, origin: Provenance) -> Chain:
    nodes = _nodes(document, tensor_parallel)
    inputs = _inputs(document, nodes)
    given = {number for number, sources in inputs.items() if not sources}
    for number in sorted(given):
        if nodes[number].ways[0].seconds:
            raise InputError(
                f"no edge leads to it, and it takes {float(nodes[number].ways[0].seconds)} s",
                field=f"{nodes[number].field}[0].timePerSample",
                expected="write 0 for a tensor of the step, or an edge to a layer",
            )
    order = _in_sequence({node: inputs[node] - given for node in nodes if node not in given}, nodes)
    stages = []
    for place, number in enumerate(order):
        output = 0
        if place + 1 < len(order):
            reader = order[place + 1]
            output = _read_from_layer(nodes[reader], [nodes[n] for n in inputs[reader] & given])
        stages.append(_stage(f"{number} {nodes[number].name}"[:100], nodes[number], output))
    times = [len({nodes[number].ways[way].seconds for number in order}) for way in range(2)]
    note = (
        f"{origin.note} Repeated: {len(order)} layers have {times[0]} different times, and "
        f"{times[1]} with recomputation."
    )
    if tensor_parallel > 1:
        note += " The share of one device; communication, which has no time there, is left out."
    shared = f"-tp{tensor_parallel}" if tensor_parallel > 1 else ""
    batch = f"-b{origin.batch}{shared}-{origin.device}".lower() if origin.batch else shared
    return Chain(
        name=f"{origin.model or stem}{batch}",
        input_bytes=sum(nodes[number].ways[1].activation_bytes for number in given),
        stages=tuple(stages),
        provenance=replace(
            origin,
            note=note,
            model_arguments={**origin.model_arguments, "tensor_parallel": tensor_parallel},
        ),
    )


def _read_from_layer(reader: _Node, given: list[_Node]) -> int:
    """Return the bytes that a layer reads of the layer before it."""
    read = reader.ways[1].activation_bytes
    held = sum(tensor.ways[1].activation_bytes for tensor in given)
    if held > read:
        raise InputError(
            f"the layer reads {read} bytes, and tensors of the step of {held}",
            field=f"{reader.field}.memoryUsageA",
            expected="count all that the layer reads",
        )
    return read - held


def _stage(name: str, node: _Node, output: int) -> Stage:
    plain, recomputing = node.ways
    forward = recomputing.seconds - plain.seconds
    saved = plain.activation_bytes - recomputing.activation_bytes
    if not 0 <= forward <= plain.seconds:
        raise InputError(
            f"{float(plain.seconds)} s, and {float(recomputing.seconds)} s with recomputation",
            field=f"{node.field}.timePerSample",
            expected="recomputation takes longer, and not twice as long",
        )
    if saved < 0:
        raise InputError(
            f"{-saved} bytes more with recomputation",
            field=f"{node.field}.memoryUsageA",
            expected="recomputation keeps no more than is kept without",
        )
    unit_ns = NANOSECOND_UNITS["s"]
    where = f"{node.field}.timePerSample"
    return Stage(
        name=name,
        forward_ns=whole_nanoseconds(forward, where, unit_ns),
        backward_ns=whole_nanoseconds(plain.seconds - forward, where, unit_ns),
        output_bytes=output,
        saved_bytes=saved + output,
        weight_bytes=plain.weight_bytes,
    )


def _entries(document: Any, key: str) -> list[dict[str, Any]]:
    expected = 'give an object with the lists "nodes" and "edges" of objects'
    if not isinstance(document, dict) or not isinstance(document.get(key), list):
        raise InputError(f"there is no list {key}", field=key, expected=expected)
    for at, entry in enumerate(document[key]):
        if not isinstance(entry, dict):
            raise InputError("the entry is not an object", field=f"{key}[{at}]", expected=expected)
    found: list[dict[str, Any]] = document[key]
    return found


def _identifier(entry: Mapping[str, Any], key: str, field: str) -> int:
    value = entry.get(key)
    if type(value) is not int or value < 0:
        raise InputError(
            f"{str(value)[:40]!r} cannot identify a node",
            field=f"{field}.{key}",
            expected="write an integer, 0 or more",
        )
    return value


def _nodes(document: Any, tensor_parallel: int) -> dict[int, _Node]:
    nodes: dict[int, _Node] = {}
    for at, entry in enumerate(_entries(document, "nodes")):
        field = f"nodes[{at}]"
        number = _identifier(entry, "id", field)
        if number in nodes:
            raise InputError(
                f"{number} stands twice", field=f"{field}.id", expected="give each node its own id"
            )
        name = checked_name(entry.get("name"), f"{field}.name")
        nodes[number] = _Node(
            name, f"{field}.TMPCs.{tensor_parallel}", _ways(entry, field, tensor_parallel)
        )
    return nodes


def _inputs(document: Any, nodes: Mapping[int, _Node]) -> dict[int, set[int]]:
    inputs: dict[int, set[int]] = {number: set() for number in nodes}
    for at, edge in enumerate(_entries(document, "edges")):
        source, target = (_identifier(edge, key, f"edges[{at}]") for key in ("sourceId", "destId"))
        for end in (source, target):
            if end not in nodes:
                raise InputError(
                    f"{end} is not a node",
                    field=f"edges[{at}]",
                    expected="name a node of this file",
                )
        inputs[target].add(source)
    return inputs


def _in_sequence(layers_read: Mapping[int, set[int]], nodes: Mapping[int, _Node]) -> list[int]:
    """Return the layers in their order; each reads the one before it and no other."""
    reader_of: dict[int | None, int] = {}
    for number, sources in layers_read.items():
        source = min(sources, default=None)
        if len(sources) > 1 or source in reader_of:
            among = ", ".join(map(str, sorted(sources)))
            raise InputError(
                f"it reads layers {among}" if len(sources) > 1 else "another reads the same layer",
                field=nodes[number].field.partition(".")[0],
                expected="let each layer but the first read the one before it, and no other",
            )
        reader_of[source] = number
    order: list[int] = []
    last: int | None = None
    while last in reader_of:
        last = reader_of[last]
        order.append(last)
    if not order or len(order) < len(layers_read):
        raise InputError(
            f"{len(order)} of {len(layers_read)} layers follow one another",
            field="edges",
            expected="let the first layer read a tensor of the step, and none lead back to itself",
        )
    return order


def _ways(entry: Mapping[str, Any], field: str, tensor_parallel: int) -> tuple[_Layer, _Layer]:
    degrees = entry.get("TMPCs")
    where = f"{field}.TMPCs"
    expected = "give each degree a list of two ways, vanilla and activation recomp"
    if not isinstance(degrees, dict):
        raise InputError("there is no object", field=where, expected=expected)
    degree = str(tensor_parallel)
    if degree not in degrees:
        there = ", ".join(repr(key) for key in degrees)
        raise InputError(
            f"there is no degree {degree}", field=where, expected=f"choose one of: {there[:200]}"
        )
    ways = degrees[degree]
    where = f"{where}.{degree}"
    if not isinstance(ways, list) or not all(isinstance(way, dict) for way in ways):
        raise InputError("there is no list of objects", field=where, expected=expected)
    if tuple(way.get("id") for way in ways) != _WAYS:
        raise InputError("the ways are others", field=where, expected=expected)
    plain, recomputing = (_way(way, f"{where}[{at}]") for at, way in enumerate(ways))
    return plain, recomputing


def _way(way: Mapping[str, Any], field: str) -> _Layer:
    sizes = (
        whole_bytes(exact_number(way.get(key), f"{field}.{key}"), f"{field}.{key}")
        for key in ("memoryUsageA", "parameterSize")
    )
    return _Layer(exact_number(way.get("timePerSample"), f"{field}.timePerSample"), *sizes)
