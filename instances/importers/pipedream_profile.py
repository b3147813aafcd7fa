"""Reader of PipeDream's profiles (``graph.txt``): layers and edges.

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

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.instances.core.names import checked_name
from jettison.instances.core.units import NANOSECOND_UNITS, checked_amount
from jettison.instances.importers.exact_numbers import number_of_text
from jettison.instances.importers.layer_profile import Layer, Profile
from jettison.instances.importers.pipedream_published import NOTE, PUBLISHED
from jettison.instances.importers.published_file import origin_of

_FIELDS = {"forward_compute_time", "backward_compute_time", "activation_size", "parameter_size"}
_LAYER_LINE = (
    "write: node1 -- description -- forward_compute_time=0.0, backward_compute_time=0.0, "
    "activation_size=0.0, parameter_size=0.0"
)


def read_pipedream_profile(path: Path) -> Profile:
    """Read and check a profile, named after its file, or its folder if that is ``graph.txt``.

    Raises
    ------
    InputError
        If the file cannot be read, a line is neither a layer nor an edge, the edges name unknown
        layers or form a cycle, or there is no layer besides the inputs.
    """
    text = read_text(path)
    layers, edges = _parse(text.splitlines())
    name = path.name.removesuffix(".txt").removesuffix(".graph")
    return Profile.of(
        path.resolve().parent.name if name == "graph" else name,
        origin_of(text, PUBLISHED, NOTE),
        layers,
        {edge: f"line {number}" for edge, number in edges.items()},
    )


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
    forward_ns = _nanoseconds(values, "forward_compute_time", field)
    backward_ns = _nanoseconds(values, "backward_compute_time", field)
    kind = description.split("(")[0].strip()
    return identifier, Layer(
        # Some of the length is left for what the names of operations add.
        name=checked_name(f"{identifier} {kind}".strip()[:100], field),
        may_be_input=description.startswith("Input") or forward_ns + backward_ns == 0,
        forward_ns=forward_ns,
        backward_ns=backward_ns,
        output_bytes=_bytes(values, "activation_size", field),
        weight_bytes=_bytes(values, "parameter_size", field),
    )


def _nanoseconds(values: Mapping[str, str], name: str, field: str) -> int:
    where = f"{field}: {name}"
    milliseconds = number_of_text(values[name], where)
    return checked_amount(round(milliseconds * NANOSECOND_UNITS["ms"]), where, "nanoseconds")


def _bytes(values: Mapping[str, str], name: str, field: str) -> int:
    where = f"{field}: {name}"
    text = values[name]
    listed = text[1:-1].split(";") if text.startswith("[") and text.endswith("]") else [text]
    total = sum((number_of_text(item, where) for item in listed), start=Fraction(0))
    if total.denominator != 1:
        raise InputError(
            f"{text!r} is not a whole number of bytes",
            field=where,
            expected="write a whole number, or a list such as [64.0; 8.0]",
        )
    return checked_amount(int(total), where, "bytes")
