r"""Importer of Sailor's layer profiles: a language model, layer by layer, in a training run.

Two files belong together. ``profiles/MODEL/DEVICE/profile.json`` has the times, in seconds:
``{microbatch: {tensor_parallel: {layer: [forward, backward, update]}}}``. ``llm_info.json`` has the
sizes of one sample, in bytes: ``{model: {tensor_parallel: {layer: {params_bytes, act_input_bytes,
act_output_bytes, act_mem_bytes}}}}``, where ``act_mem_bytes`` is what the allocator held more after
the layer's forward operation than before it.

Each layer becomes a stage. Activations are those of one sample times the microbatch; the saved
bytes are ``act_mem_bytes``, and never less than the output. The last layer ends with the loss,
whose scalar is not counted. Times are rounded to the nearest nanosecond.

Sources: github.com/eth-easl/sailor; Strati, Zhang, Manos, Sanchez Periz, Hu, Chen, Buzcu, Han,
Delgado, Klimovic, Sailor: Automating Distributed Training over Dynamic, Heterogeneous, and
Geo-distributed Clusters (SOSP 2025).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import parse_json, read_text
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import NANOSECOND_UNITS
from jettison.instances.importers.exact_numbers import exact_number, whole_bytes, whole_nanoseconds
from jettison.instances.importers.sailor_published import MODELS, published
from jettison.instances.remat_chain.chain import Chain, Stage

_TIMES = ("forward", "backward", "update")


class _Times(NamedTuple):
    """Times of a layer, in nanoseconds."""

    forward_ns: int
    backward_ns: int
    update_ns: int


def import_sailor(
    path: str | Path,
    *,
    sizes: str | Path,
    batch: int,
    tensor_parallel: int = 1,
    model: str | None = None,
    device: str | None = None,
) -> Chain:
    """Read a profile and the sizes that belong to it as a chain, a stage for each layer.

    Parameters
    ----------
    path
        The times, ``profile.json``.
    sizes
        The sizes, ``llm_info.json``.
    batch
        Samples in a microbatch, one of those in the profile.
    tensor_parallel
        Devices that share each layer, one of those in the profile; the chain is that of one device.
    model, device
        Names, if they are not those of the folders that the profile lies in: MODEL/DEVICE.

    Raises
    ------
    InputError
        If a file cannot be read or is not of this form, the profile lacks the microbatch or the
        degree, the sizes lack the model or the degree, or not the layers that have sizes have
        times; the message names the file and the field.
    """
    path = Path(path)
    folder = path.resolve().parent
    model = folder.parent.name if model is None else model
    device = folder.name if device is None else device
    profile_text, sizes_text = read_text(path), read_text(Path(sizes))
    try:
        times = _times(parse_json(profile_text, str(path)), batch, tensor_parallel)
    except InputError as error:
        raise error.within(source=str(path)) from None
    try:
        document = parse_json(sizes_text, str(sizes))
        layers, where = _layers(document, "sizes", model=model, tensor_parallel=tensor_parallel)
    except InputError as error:
        raise error.within(source=str(sizes)) from None
    if len(layers) != len(times):
        raise InputError(
            f"{len(times)} layers have times, and {len(layers)} of {model} have sizes in {sizes}",
            field=f"{batch}.{tensor_parallel}",
            source=str(path),
            expected="give a profile of this model; this one is of another, or cut short",
        )
    origin = published(profile_text, sizes_text, model, device) or Provenance(
        source="imported", device=device, model=model
    )
    shared = f"-tp{tensor_parallel}" if tensor_parallel > 1 else ""
    name = MODELS[model].name if model in MODELS else model.lower()
    try:
        return Chain(
            name=f"{name}-b{batch}{shared}-{device.lower()}",
            input_bytes=_bytes(layers[0], "act_input_bytes", f"{where}.0", batch),
            stages=_stages(times, layers, where, batch),
            provenance=_with_measurements(origin, times, batch, tensor_parallel),
        )
    except InputError as error:
        raise error.within(source=str(sizes)) from None


def _times(document: Any, batch: int, tensor_parallel: int) -> list[_Times]:
    layers, where = _layers(document, "profile", microbatch=batch, tensor_parallel=tensor_parallel)
    times = []
    for layer, entry in enumerate(layers):
        field = f"{where}.{layer}"
        if not isinstance(entry, list) or len(entry) != len(_TIMES):
            raise InputError(
                f"{str(entry)[:40]} are not three times",
                field=field,
                expected="write the seconds of the forward, the backward and the update",
            )
        seconds = [exact_number(value, f"{field}[{at}]") for at, value in enumerate(entry)]
        times.append(
            _Times(*(whole_nanoseconds(value, field, NANOSECOND_UNITS["s"]) for value in seconds))
        )
    return times


def _layers(document: Any, what: str, **keys: str | int) -> tuple[list[Any], str]:
    """Return the entries of layers 0, 1, ... below these keys, and where they stand."""
    path: list[str] = []
    found = document
    for name, wanted in keys.items():
        entries = _object(found, ".".join(path), what)
        key = str(wanted)
        if key not in entries:
            there = ", ".join(repr(entry) for entry in sorted(entries, key=_by_number))
            raise InputError(
                f"there is no {name.replace('_', ' ')} {key[:80]!r}",
                field=".".join(path) or what,
                expected=f"choose one of: {there[:200]}",
            )
        path.append(key)
        found = entries[key]
    where = ".".join(path)
    layers = _object(found, where, what)
    for layer in range(len(layers)):
        if str(layer) not in layers:
            raise InputError(
                f"there are {len(layers)} layers, and none is {layer}",
                field=where,
                expected="number the layers from 0",
            )
    if not layers:
        raise InputError("there is no layer", field=where, expected="give at least one layer")
    return [layers[str(layer)] for layer in range(len(layers))], where


def _by_number(key: str) -> tuple[int, str]:
    return len(key), key


def _object(value: Any, field: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(
            f"{str(value)[:40]!r} is not an object",
            field=field or what,
            expected="a profile is {microbatch: {tensor parallel: {layer: [seconds]}}}, and sizes "
            "are {model: {tensor parallel: {layer: {bytes}}}}",
        )
    return value


def _stages(times: list[_Times], layers: list[Any], where: str, batch: int) -> tuple[Stage, ...]:
    last = len(times) - 1
    stages = []
    for layer, (time, entry) in enumerate(zip(times, layers, strict=True)):
        field = f"{where}.{layer}"
        output = 0 if layer == last else _bytes(entry, "act_output_bytes", field, batch)
        stages.append(
            Stage(
                name=f"layer {layer}",
                forward_ns=time.forward_ns,
                backward_ns=time.backward_ns,
                output_bytes=output,
                saved_bytes=max(_bytes(entry, "act_mem_bytes", field, batch), output),
                weight_bytes=_bytes(entry, "params_bytes", field),
            )
        )
    return tuple(stages)


def _bytes(entry: Any, key: str, field: str, samples: int = 1) -> int:
    where = f"{field}.{key}"
    if not isinstance(entry, dict) or key not in entry:
        raise InputError("the field is missing", field=where, expected="write the bytes")
    return whole_bytes(exact_number(entry[key], where) * samples, where)


def _with_measurements(
    origin: Provenance, times: list[_Times], batch: int, tensor_parallel: int
) -> Provenance:
    update_ns = sum(time.update_ns for time in times)
    remarks = [
        "Measured: the times of each layer in training, and what the allocator held more after its "
        "forward operation (saved bytes).",
        f"Repeated: {len(times)} layers have {len(set(times))} different times.",
        f"Scaled: activations are those of one sample, times {batch}.",
        "Unknown: memory in use only while an operation runs, so that overheads are 0.",
        f"The optimizer takes {update_ns} ns, all layers together."
        if update_ns
        else "The optimizer was not timed.",
    ]
    if all(time.forward_ns % 100_000 == time.backward_ns % 100_000 == 0 for time in times):
        remarks.append("Times are rounded to 0.1 ms.")
    if tensor_parallel > 1:
        remarks.append("The share of one device; no time of communication is set apart.")
    if origin.note:
        remarks.append(origin.note)
    arguments = {**origin.model_arguments, "tensor_parallel": tensor_parallel}
    return replace(origin, batch=batch, model_arguments=arguments, note=" ".join(remarks))
