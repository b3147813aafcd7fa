"""Arguments and options of the command line that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.completion import (
    card_names,
    instance_names,
    link_names,
    method_names,
    problem_names,
)
from jettison.instances.core.atomic_file import check_replaceable
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Transfers
from jettison.solvers.core.registry import PROBLEM_KINDS

ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help=f"One of {', '.join(PROBLEM_KINDS.names)}.",
        autocompletion=problem_names,
    ),
]
ExportedProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="One of "
        f"{', '.join(kind.name for kind in PROBLEM_KINDS if kind.model_files is not None)}.",
        autocompletion=problem_names,
    ),
]
InstanceName = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        help="Name of a bundled instance (`jettison list instances`) or a file.",
        autocompletion=instance_names,
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="An amount (4GiB), a share of the no-saving peak (50%), or alpha=0.2 (see --alpha).",
    ),
]
CardOption = Annotated[
    str | None,
    typer.Option(
        "--card",
        metavar="SIZE",
        help="In place of --memory: a card, by its size (96GiB) or its name (`jettison list "
        "cards`); the plan gets what the resident bytes leave of it.",
        autocompletion=card_names,
    ),
]
ResidentOption = Annotated[
    str | None,
    typer.Option(
        "--resident",
        metavar="SIZE",
        help="Bytes of the --card that no plan can use: the context of CUDA, and weights, "
        "gradients and states where the problem does not plan them; by default those that the "
        "instance records.",
    ),
]
AlphaOption = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        metavar="RATIO",
        help="In place of --memory, for recomputation on chains: 0 is the peak of recomputing all, "
        "1 that of saving all.",
    ),
]
BandwidthOption = Annotated[
    str | None,
    typer.Option(
        "--bandwidth",
        metavar="RATE",
        help="Bandwidth of the link to the host, each way, such as 12GB/s; 12GB/s:half-duplex or "
        "12GB/s:total=14GB/s where both ways share it, or the name of a measured link "
        "(`jettison list links`); for multi-model it replaces that of the instance, for "
        "pipeline-chain it is that between devices.",
        autocompletion=link_names,
    ),
]
TransfersOption = Annotated[
    Transfers | None,
    typer.Option(
        "--transfers",
        help="How transfers use memory: at-once, or fluid as in POFO; at-once by default.",
    ),
]
ModelsOption = Annotated[
    int | None,
    typer.Option(
        "--models", metavar="N", help="Number of models of a multi-model instance; all by default."
    ),
]
DevicesOption = Annotated[
    int | None,
    typer.Option("--devices", metavar="P", help="Number of devices of a pipeline."),
]
MicrobatchesOption = Annotated[
    int | None,
    typer.Option("--microbatches", metavar="M", help="Micro-batches of a step of a pipeline."),
]
WeightCopiesOption = Annotated[
    int | None,
    typer.Option(
        "--weight-copies",
        metavar="N",
        help="Bytes that stay on a device of a pipeline for each byte of its weights: 2, weights "
        "and gradients, by default; 4 with Adam, 8 with Adam and weights in half precision.",
    ),
]
ChunksOption = Annotated[
    int | None,
    typer.Option(
        "--chunks",
        metavar="V",
        help="Largest number of model chunks on each device of a pipeline: 1, in the order 1F1B, "
        "by default; with more, interleaved 1F1B is tried as well.",
    ),
]
HostMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--host-memory",
        metavar="SIZE",
        help="Memory of the host for what is moved there, such as 256GiB; no limit by default.",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="The method (`jettison list methods`).",
        autocompletion=method_names,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def checked_picture(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be written before the work starts.

    Raises
    ------
    InputError
        If the suffix is not that of a picture, or as `checked_output` says.
    """
    if path is not None:
        from jettison.schedules.core.picture_file import check_picture_path

        check_picture_path(path)
    return path


def checked_output(path: Path | None) -> Path | None:
    """Refuse an output file that cannot be written before the work starts.

    Raises
    ------
    InputError
        If the folder does not exist, or something stands there that is no file.
    """
    if path is not None:
        check_replaceable(path)
    return path


def read_mesh(text: str | None) -> tuple[int, ...]:
    """Read the numbers of devices along the dimensions of a mesh, such as ``2x4``.

    Raises
    ------
    InputError
        If the text is absent or something else.
    """
    words = (text or "").split("x")
    if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
        raise InputError(f"{(text or '')[:40]!r}", field="mesh", expected="write 8 or 2x4, say")
    return tuple(int(word) for word in words)
