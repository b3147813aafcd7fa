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

from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_json
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import NANOSECOND_UNITS
from jettison.instances.importers.exact_numbers import exact_number, whole_bytes, whole_nanoseconds
from jettison.instances.remat_chain.chain import Chain, Stage

_DEVICES = ("A100-40", "A100-80", "GH-96", "RTX-2080", "RTX-3090", "Titan-RTX", "V100-16")
_TIMES = ("forward", "backward", "update")


class _Published(NamedTuple):
    """Facts about a model that its profile leaves out."""

    name: str
    sequence: int
    remark: str = ""


_MODELS = MappingProxyType(
    {
        "OPT-350": _Published("opt-350m", 2048),
        "GPT-Neo-2.7": _Published("gpt-neo-2.7b", 2048),
        "OPT-30": _Published("opt-30b", 2048),
        "LLAMA-3-8": _Published(
            "llama-3-8b", 8192, "backward times are those between the ends of consecutive layers"
        ),
    }
)


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
    try:
        times = _times(read_json(path), batch, tensor_parallel)
    except InputError as error:
        raise error.within(source=str(path)) from None
    try:
        document = read_json(Path(sizes))
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
    try:
        return _chain(times, layers, where, batch, tensor_parallel, model, device)
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
            raise InputError(
                f"there is no {name.replace('_', ' ')} {key[:80]}",
                field=".".join(path) or what,
                expected=f"choose one of: {', '.join(sorted(entries, key=_by_number))[:200]}",
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


def _chain(
    times: list[_Times],
    layers: list[Any],
    where: str,
    batch: int,
    tensor_parallel: int,
    model: str,
    device: str,
) -> Chain:
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
    known = _MODELS.get(model)
    shared = f"-tp{tensor_parallel}" if tensor_parallel > 1 else ""
    name = known.name if known is not None else model.lower()
    return Chain(
        name=f"{name}-b{batch}{shared}-{device.lower()}",
        input_bytes=_bytes(layers[0], "act_input_bytes", f"{where}.0", batch),
        stages=tuple(stages),
        provenance=_provenance(times, batch, tensor_parallel, model, device),
    )


def _bytes(entry: Any, key: str, field: str, samples: int = 1) -> int:
    where = f"{field}.{key}"
    if not isinstance(entry, dict) or key not in entry:
        raise InputError("the field is missing", field=where, expected="write the bytes")
    return whole_bytes(exact_number(entry[key], where) * samples, where)


def _provenance(
    times: list[_Times], batch: int, tensor_parallel: int, model: str, device: str
) -> Provenance:
    distinct = len(set(times))
    update_ns = sum(time.update_ns for time in times)
    remarks = [
        "measured: the times of each layer in training, and what the allocator held after its "
        "forward operation (saved bytes)",
        f"repeated: {len(times)} layers have {distinct} different times",
        f"scaled: activations of one sample, times {batch}",
        "unknown: memory in use only while an operation runs (overheads are 0)",
        f"optimizer: {update_ns} ns for all layers" if update_ns else "optimizer: not timed",
    ]
    if all(time.forward_ns % 100_000 == time.backward_ns % 100_000 == 0 for time in times):
        remarks.append("times are rounded to 0.1 ms")
    if tensor_parallel > 1:
        remarks.append("one device's share; its times hold what they hold of communication")
    known = _MODELS.get(model)
    if known is None or device not in _DEVICES:
        return Provenance(
            source="imported",
            device=device,
            device_kind="cuda",
            model=model,
            model_arguments={"tensor_parallel": tensor_parallel},
            batch=batch,
            note="; ".join(remarks),
        )
    remarks += [known.remark] if known.remark else []
    return Provenance(
        source="imported",
        repository="github.com/eth-easl/sailor",
        commit="cf2c8e3",
        file=f"sailor/Planner/sailor_planner/profiles/{model}/{device}/profile.json",
        licence="MIT",
        device=device,
        device_kind="cuda",
        libraries={"Megatron-DeepSpeed": "not stated"},
        model=model,
        model_arguments={"tensor_parallel": tensor_parallel, "flash_attention": False},
        batch=batch,
        sequence=known.sequence,
        dtype="float32",
        note="; ".join([*remarks, "products may use TF32"]),
    )
