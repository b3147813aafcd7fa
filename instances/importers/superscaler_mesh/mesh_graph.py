r"""Importer of SuperScaler's profiles as sharded graphs: GPTs on a mesh of one dimension.

Operators are measured on one device, and on T devices that share them in each of two ways, their
collectives included; the collectives are measured as well. All of these are files of one folder,
of which the one for one device is given, and no number is modelled.

**Strategies.** Those of `jettison.instances.importers.superscaler_mesh.transformer_layers`. The
second way differs from the first in ``enc-attention-qkv`` only; its other rows measure the same
again. Of a measured time, the communication is the all-reduce of that size by itself, and the
computation is the rest.

**Resharding.** What is split and read as a whole is gathered, by an all-gather of each device's
part; each reader gathers for itself. A part of what is whole costs nothing.

**Memory.** A forward value is what the allocator gained, masks included. A backward operator reads
the value of its operator, what that read, and gradients, and makes the gradient of what it read.
Before it come the gradients of its weights, which are kept, and of the values of attention, in no
time: they have memory while it runs. Weights are parameters. What was reserved in addition while
operators ran, and the optimizer, are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import check_range
from jettison.instances.importers.superscaler_mesh.collective_times import read_collective_times
from jettison.instances.importers.superscaler_mesh.measured_strategies import MeasuredStrategies
from jettison.instances.importers.superscaler_mesh.sharded_step import sharded_step
from jettison.instances.importers.superscaler_mesh.transformer_layers import ROWS
from jettison.instances.importers.superscaler_operators import Operator as Measured
from jettison.instances.importers.superscaler_operators import read_operators
from jettison.instances.importers.superscaler_published import Run, run_of
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph

_ONE_DEVICE = "_tp1_algo0"
_MOST_LAYERS = 1000
# Begin of the SHA-256 of all files of one graph, in the order in which they are read.
_PUBLISHED = frozenset(
    {
        "6298ed770003f0020432934e631d2630",  # gpt_1_3B, microbatch 1, 2 devices
        "86ea8077a3900d6a8a602f4d6805d382",  # 4
        "fbc5504cf168bc0c52404b58291cd0c0",  # 8
        "bbed3945f5cf2ea470dcf6329cebf91f",  # gpt_6_7B, microbatch 1, 2 devices
        "b0ff66a6186895518c3dbf13d29201e7",  # 4
        "e128c3350a1159ce854d447030f68a97",  # 8
    }
)


def import_superscaler_mesh(
    path: str | Path,
    *,
    devices: int,
    layers: int | None = None,
    device: str | None = None,
) -> ShardedGraph:
    """Read the profiles of a GPT as a sharded graph; :math:`O(n)` for n operators of all layers.

    Parameters
    ----------
    path
        The profile for one device, ``gpt_1_3B_mbs1_tp1_algo0.csv``. Beside it are those for
        `devices` devices, in both ways, and the tables of collectives,
        ``prim_gpt_1_3B_all_reduce_4gpus.csv`` and that of ``all_gather``.
    devices
        Devices of the mesh, at least 2.
    layers
        Layers of the model. It is known of the published profiles.
    device
        Name of the device, for the provenance; it is known of the published profiles.

    Raises
    ------
    InputError
        If a file is missing or cannot be read, has a run that failed, rows of another model, sizes
        that do not fit together, or the number of layers is needed; the message names the file.
    """
    path = Path(path)
    check_range("devices", devices, 2, 1024)
    if not path.stem.endswith(_ONE_DEVICE):
        raise InputError(
            f"{path.name!r} is not the profile for one device",
            source=str(path),
            field="FILE",
            expected=f"give MODEL_mbsB{_ONE_DEVICE}.csv, with the others beside it",
        )
    one = path.stem.removesuffix(_ONE_DEVICE)
    files = [
        path,
        *(path.with_name(f"{one}_tp{devices}_algo{way}.csv") for way in (0, 1)),
    ]
    texts = [read_text(file) for file in files]
    profiles = [_profile(text, file) for text, file in zip(texts, files, strict=True)]
    model = one.rpartition("_mbs")[0]
    reduce, gather = (
        read_collective_times(path.with_name(f"prim_{model}_{name}_{devices}gpus.csv"))
        for name in ("all_reduce", "all_gather")
    )
    run = run_of(texts[0], path.stem, device)
    texts += [reduce.text, gather.text]
    count = run.layers if layers is None else layers
    if count is None:
        raise InputError(
            "the profile has one layer, but not how many layers there are",
            source=str(path),
            field="layers",
            expected="give the number of layers (--layers 24)",
        )
    check_range("layers", count, 1, _MOST_LAYERS)
    name = f"{run.name}-mesh1x{devices}"
    try:
        found = sharded_step(name, MeasuredStrategies(profiles, reduce, gather, devices), count)
    except InputError as error:
        raise error.within(source=str(path)) from None
    origin = _origin(run, "".join(texts), devices)
    return replace(found, provenance=origin)


def _profile(text: str, path: Path) -> Mapping[str, Measured]:
    try:
        found = {operator.name: operator for operator in read_operators(text)}
        if tuple(found) != ROWS:
            other = next((row for row in found if row not in ROWS), "other rows")
            raise InputError(
                f"{other!r} is not an operator of a GPT, or one is missing",
                field="op_name",
                expected="give the profile of a GPT; others become chains, without --mesh",
            )
    except InputError as error:
        raise error.within(source=str(path)) from None
    return found


def _origin(run: Run, text: str, devices: int) -> Provenance:
    is_published = hashlib.sha256(text.encode("utf-8")).hexdigest()[:32] in _PUBLISHED
    origin = run.origin
    if not is_published:
        origin = Provenance(
            source="imported",
            device=origin.device,
            model=origin.model,
            batch=origin.batch,
            sequence=origin.sequence,
            dtype=origin.dtype,
        )
    elif origin.file is not None:
        pattern = origin.file.removesuffix(f"{_ONE_DEVICE}.csv")
        model = pattern.rpartition("_mbs")[0].rpartition("/")[2]
        folder = pattern.rpartition("/")[0]
        origin = replace(
            origin,
            file=f"{pattern}_tp{{1,{devices}}}_algo{{0,1}}.csv, "
            f"{folder}/prim_{model}_all_{{reduce,gather}}_{devices}gpus.csv",
        )
    return replace(
        origin,
        model_arguments={"devices": devices},
        note="Measured: the times of each operator, run alone and not in a step, on one device and "
        f"on {devices}, with its collectives; collectives alone; what the allocator gained. "
        "Communication is the all-reduce of that size alone, and the rest of a measured time is "
        "computation. All layers have the measurements of one. Left out: what was reserved while "
        "operators ran, the addition of gradients of the hidden state, the optimizer. "
        "Rounded: sizes, to 0.001 MiB.",
    )
