"""The layers and edges of a PipeDream profile (``graph.txt``), checked and ordered.

One line per layer and, after a tab or spaces, one line per edge::

    node2 -- Linear(8, 8) -- forward_compute_time=0.250, backward_compute_time=0.500,
    activation_size=64.000, parameter_size=128.000
    <tab>node1 -- node2

(the first two lines are one). Times are milliseconds, sizes bytes, and a layer with several
outputs has a list of sizes, ``[64.0; 8.0]``, which are added up. A trailing ``-- stage_id=2``, as
in partitioned profiles, is ignored. Times of up to six decimals are exact in nanoseconds; others
are rounded to the nearest, half to even. Source: Narayanan et al., SOSP 2019, and the profiles
published with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.instances.core.names import checked_name
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.topological_order import find_cycle, topological_order
from jettison.instances.core.units import NANOSECOND_UNITS, checked_amount
from jettison.instances.importers.pipedream_published import NOTE, PUBLISHED
from jettison.instances.importers.published_file import origin_of

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?")
_FIELDS = {"forward_compute_time", "backward_compute_time", "activation_size", "parameter_size"}
_LAYER_LINE = (
    "write: node1 -- description -- forward_compute_time=0.0, backward_compute_time=0.0, "
    "activation_size=0.0, parameter_size=0.0"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of a profile; `name` is its identifier and its kind, such as ``node2 Linear``."""

    name: str
    is_called_input: bool
    forward_ns: int
    backward_ns: int
    output_bytes: int
    weight_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """PipeDream profile: its layers and edges, without the inputs of the step.

    Attributes
    ----------
    name
        Name of the file without its endings, or of its folder if the file is ``graph.txt``.
    provenance
        Origin of the numbers.
    input_bytes
        Size of all inputs of the step together.
    layers
        By identifier, in a topological order in which a layer stands as late as those that read
        it allow; a layer that does not lead to the output stands right behind what it reads.
    inputs, users
        For each layer, the layers that it reads and that read it.
    live
        The layers that lead to the output, the output included.
    """

    name: str
    provenance: Provenance
    input_bytes: int
    layers: dict[str, Layer]
    inputs: Mapping[str, list[str]]
    users: Mapping[str, list[str]]
    live: frozenset[str]

    def total_bytes(self, layers: Iterable[str]) -> int:
        """Return the size of the outputs of these layers together."""
        return sum(self.layers[layer].output_bytes for layer in layers)

    @classmethod
    def read(cls, path: Path) -> Profile:
        """Read and check a profile. :math:`O(n^2)` bit operations.

        Raises
        ------
        InputError
            If the file cannot be read, a line is neither a layer nor an edge, the edges name
            unknown layers or form a cycle, or there is no layer besides the inputs.
        """
        text = read_text(path)
        layers, edges = _parse(text.splitlines())
        inputs: dict[str, list[str]] = {layer: [] for layer in layers}
        for source, layer in edges:
            inputs[layer].append(source)
        cycle = find_cycle(inputs)
        if cycle:
            raise InputError(
                f"the edges form a cycle: {' -> '.join(cycle)}",
                field=f"line {edges[cycle[0], cycle[1]]}",
                expected="remove one of these edges",
            )
        given = [layer for layer in inputs if not inputs[layer] and _is_input(layers[layer])]
        inputs = {
            layer: [source for source in sources if source not in given]
            for layer, sources in inputs.items()
            if layer not in given
        }
        if not inputs:
            raise InputError(
                "there is no layer besides the inputs",
                field="layers",
                expected="give at least one layer that reads an input",
            )
        users: dict[str, list[str]] = {layer: [] for layer in inputs}
        for layer, sources in inputs.items():
            for source in sources:
                users[source].append(layer)
        order, live = _late_order(inputs, users)
        name = path.name.removesuffix(".txt").removesuffix(".graph")
        return cls(
            name=path.resolve().parent.name if name == "graph" else name,
            provenance=origin_of(text, PUBLISHED, NOTE),
            input_bytes=sum(layers[layer].output_bytes for layer in given),
            layers={layer: layers[layer] for layer in order},
            inputs=inputs,
            users=users,
            live=live,
        )


def _is_input(layer: Layer) -> bool:
    return layer.is_called_input or layer.forward_ns + layer.backward_ns == 0


def _late_order(
    inputs: Mapping[str, list[str]], users: Mapping[str, list[str]]
) -> tuple[list[str], frozenset[str]]:
    """Return the order and the live layers that `Profile` describes."""
    bit = {layer: 1 << position for position, layer in enumerate(inputs)}
    ancestors: dict[str, int] = {}
    for layer in topological_order(inputs):
        ancestors[layer] = bit[layer]
        for source in inputs[layer]:
            ancestors[layer] |= ancestors[source]
    sinks = [layer for layer in inputs if not users[layer]]
    output = max(sinks, key=lambda layer: ancestors[layer].bit_count())
    live = frozenset(layer for layer in inputs if ancestors[output] & bit[layer])
    # Backwards from the output, a layer to which little leads comes first: so the side branches
    # stand next to what reads them, and no main layer between the two.
    fewest_first = sorted(live, key=lambda layer: (ancestors[layer].bit_count(), -bit[layer]))
    backwards = topological_order(
        {layer: [user for user in users[layer] if user in live] for layer in fewest_first}
    )
    dead = [layer for layer in inputs if layer not in live]
    order = topological_order({layer: inputs[layer] for layer in [*dead, *reversed(backwards)]})
    return order, live


def _parse(lines: list[str]) -> tuple[dict[str, Layer], dict[tuple[str, str], int]]:
    """Return the layers by identifier, and for each edge its line; repeated edges count once."""
    layers: dict[str, Layer] = {}
    edges: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines, start=1):
        field = f"line {number}"
        parts = line.strip().split(" -- ")
        if not line.strip():
            continue
        if line[0].isspace():
            if len(parts) != 2:
                raise InputError(
                    f"{line.strip()[:80]!r} is not an edge",
                    field=field,
                    expected="write: <tab>node1 -- node2",
                )
            edges.setdefault((parts[0], parts[1]), number)
        else:
            identifier, layer = _parse_layer(parts, field)
            if identifier in layers:
                raise InputError(
                    f"{identifier!r} stands twice", field=field, expected="give each layer one line"
                )
            layers[identifier] = layer
    for edge, number in edges.items():
        for identifier in edge:
            if identifier not in layers:
                raise InputError(
                    f"{identifier!r} is not a layer of the profile",
                    field=f"line {number}",
                    expected="check that the file is complete",
                )
    return layers, edges


def _parse_layer(parts: list[str], field: str) -> tuple[str, Layer]:
    if parts[-1].startswith("stage_id="):
        parts = parts[:-1]
    items = [item.partition("=") for item in parts[-1].split(", ")]
    values = {name: text for name, _, text in items}
    if len(parts) < 3 or len(items) != len(_FIELDS) or set(values) != _FIELDS:
        raise InputError(
            f"{' -- '.join(parts)[:80]!r} is not a layer", field=field, expected=_LAYER_LINE
        )
    identifier, description = parts[0], " -- ".join(parts[1:-1])
    kind = description.split("(")[0].strip()
    return identifier, Layer(
        # Some of the length is left for what the names of operations add.
        name=checked_name(f"{identifier} {kind}".strip()[:100], field),
        is_called_input=description.startswith("Input"),
        forward_ns=_nanoseconds(values, "forward_compute_time", field),
        backward_ns=_nanoseconds(values, "backward_compute_time", field),
        output_bytes=_bytes(values, "activation_size", field),
        weight_bytes=_bytes(values, "parameter_size", field),
    )


def _nanoseconds(values: Mapping[str, str], name: str, field: str) -> int:
    where = f"{field}: {name}"
    milliseconds = _number(values[name], where)
    return checked_amount(round(milliseconds * NANOSECOND_UNITS["ms"]), where, "nanoseconds")


def _bytes(values: Mapping[str, str], name: str, field: str) -> int:
    where = f"{field}: {name}"
    text = values[name]
    listed = text[1:-1].split(";") if text.startswith("[") and text.endswith("]") else [text]
    total = sum((_number(item, where) for item in listed), start=Fraction(0))
    if total.denominator != 1:
        raise InputError(
            f"{text!r} is not a whole number of bytes",
            field=where,
            expected="write a whole number, or a list such as [64.0; 8.0]",
        )
    return checked_amount(int(total), where, "bytes")


def _number(text: str, field: str) -> Fraction:
    digits = text.strip()
    if len(digits) > 40 or _NUMBER.fullmatch(digits) is None:
        raise InputError(
            f"{text[:40]!r} is not a number",
            field=field,
            expected="write a non-negative number such as 12.345",
        )
    return Fraction(digits)
