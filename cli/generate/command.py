"""`jettison generate`: hard instances of known answer, and random ones, for testing solvers."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.generate.drawing_command import SeedOption
from jettison.cli.generate.instance_set import (
    INDEX,
    LARGEST_COUNT,
    FileFormat,
    ModelKind,
    SetLayout,
    SetProblem,
    check_new_folder,
    file_entry,
    write_folder,
)
from jettison.cli.option_groups import with_groups
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import json_text
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    Family,
    family_of,
    generate_three_partition,
    set_name,
)

app = typer.Typer(
    help="Generate hard instances of known answer, with proofs, and random graphs.",
    no_args_is_help=True,
)

_FAMILY_HELP = "; ".join(
    f"{family.name} ({family.answer}: {family.summary})" for family in FAMILIES.values()
)


class PartitionModel(StrEnum):
    """Integer programs of 3-PARTITION."""

    ANY_GROUP = ModelKind.ANY_GROUP.value
    LED_BY_LARGEST = ModelKind.LED_BY_LARGEST.value
    TRIPLES = ModelKind.TRIPLES.value


class OffloadModel(StrEnum):
    """Integer programs of weight offloading."""

    BOUND = ModelKind.OFFLOAD_BOUND.value
    EVENTS = ModelKind.OFFLOAD_EVENTS.value
    EVENTS_STRENGTHENED = ModelKind.OFFLOAD_EVENTS_STRENGTHENED.value


GroupsOption = Annotated[
    int, typer.Option("--groups", metavar="M", help="Number of groups; there are 3 M items.")
]
TargetOption = Annotated[int, typer.Option("--target", metavar="V", help="Sum of every group.")]
AnswerOption = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="yes|no",
        help="The answer of all instances; without --family it chooses planted or residue.",
    ),
]
FamilyOption = Annotated[
    str | None, typer.Option("--family", metavar="NAME", help=f"One of: {_FAMILY_HELP}.")
]
ModuliOption = Annotated[
    str | None,
    typer.Option(
        "--moduli", metavar="Q", help="For residue one (5 by default), for split two (5,7)."
    ),
]
CountOption = Annotated[
    int, typer.Option("--count", metavar="K", help="How many instances, all different.")
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write; a new one.")
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="LIST",
        help="json, which contains the certificate, and after commas mps, lp or certificate: for "
        "the answer no a separate file that python -m jettison.certificates checks.",
    ),
]
ModelOption = Annotated[
    PartitionModel,
    typer.Option(
        "--model",
        help="The integer program for mps and lp: it assigns items to numbered groups, or items to "
        "the largest item of their group, or has one column for each triple.",
    ),
]
OffloadModelOption = Annotated[
    OffloadModel,
    typer.Option(
        "--model",
        help="The integer program for mps and lp: a bound on the period, or the question whether a "
        "step without idle time exists, exact, plain or with valid inequalities.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class _SetOptions:
    """Options of every set: its size, its seed, and what is written."""

    groups: GroupsOption
    target: TargetOption
    output: OutputOption
    seed: SeedOption = 0
    count: CountOption = 1
    formats: FormatOption = "json"


@dataclass(frozen=True, kw_only=True)
class _FamilyOptions(_SetOptions):
    """Options of a set of any family."""

    answer: AnswerOption = None
    family: FamilyOption = None
    moduli: ModuliOption = None


@dataclass(frozen=True, kw_only=True)
class _TripletOptions(_SetOptions):
    """Options of a set of triplets, whose sum has a usual value."""

    target: TargetOption = 1000


@app.command("three-partition")
@with_groups
def generate_partitions(
    asked: _FamilyOptions, model: ModelOption = PartitionModel.ANY_GROUP
) -> None:
    """Group 3 M items in threes of sum V (3-PARTITION).

    Every instance comes with its answer and a certificate that `jettison verify` checks: the groups
    for yes, an argument that needs no search for no. The folder also holds the answers in MIPLIB's
    .solu format, and an index with the SHA-256 of every file.

    Example: jettison generate three-partition --groups 8 --target 1000 --answer no -o hard
    """
    family = family_of(asked.family, asked.answer)
    _generate(SetProblem.THREE_PARTITION, family, asked, ModelKind(model.value), asked.moduli)


@app.command("weight-offload")
@with_groups
def generate_weight_offload(
    asked: _FamilyOptions, model: OffloadModelOption = OffloadModel.BOUND
) -> None:
    """Offload weights as fast as 3-PARTITION allows.

    Each chain comes with the 3-PARTITION from which it is made, and with its certificate. Memory
    and bandwidth are in the index. For yes the shortest period is 2 M V ns, for no it is longer.
    Files in mps and lp hold the mixed-integer bound on the period, whose objective is idle time.
    For up to six groups they can hold the exact program over events, with a point where the answer
    is yes.

    Example: jettison generate weight-offload --groups 3 --target 99 -o steps
    """
    family = family_of(asked.family, asked.answer)
    _generate(SetProblem.WEIGHT_OFFLOAD, family, asked, ModelKind(model.value), asked.moduli)


@app.command("triplets")
@with_groups
def generate_triplets(
    asked: _TripletOptions, model: ModelOption = PartitionModel.ANY_GROUP
) -> None:
    """Fill bins of 1000 with three items each (Falkenauer).

    These are 3-PARTITION instances of answer yes with one large and two small items per group.

    Example: jettison generate triplets --groups 20 -o bins
    """
    triplets = FAMILIES["triplets"]
    _generate(SetProblem.THREE_PARTITION, triplets, asked, ModelKind(model.value))


def _generate(
    problem: SetProblem,
    family: Family,
    asked: _SetOptions,
    model: ModelKind,
    moduli_text: str | None = None,
) -> None:
    moduli, formats = _read_moduli(moduli_text), _read_formats(asked.formats)
    groups, target, seed, count = asked.groups, asked.target, asked.seed, asked.count
    if not 1 <= count <= LARGEST_COUNT:
        raise InputError(f"{count}", field="count", expected=f"write 1 to {LARGEST_COUNT}")
    check_new_folder(asked.output)
    instances = [
        generate_three_partition(family, groups, target, seed=seed, number=number, moduli=moduli)
        for number in range(count)
    ]
    # No file is written that `jettison verify` would refuse.
    for instance in instances:
        instance.proof()
    mark = "" if problem is SetProblem.THREE_PARTITION else f"{problem}-"
    name = f"{mark}{set_name(family, groups, target, moduli=moduli, seed=seed)}"
    layout = SetLayout(name, problem, formats, model)
    files = layout.files(instances)
    entries = [file_entry(name, text.encode("ascii")) for name, text in files.items()]
    files[INDEX] = json_text(layout.index(instances, entries))
    write_folder(asked.output, files)
    sys.stderr.write(
        f"wrote {asked.output}: {count} x {problem} of family {family.name}, "
        f"answer {family.answer}, {len(files)} files\n"
    )


def _read_formats(text: str) -> tuple[FileFormat, ...]:
    words = text.split(",")
    known = [str(item) for item in FileFormat]
    if len(set(words)) != len(words) or not set(words) <= set(known):
        raise InputError(
            f"{text!r}", field="format", expected=f"write {','.join(known)}, or some of them"
        )
    if FileFormat.JSON not in words:
        raise InputError(
            f"{text!r} leaves out json, which holds the certificate",
            field="format",
            expected=f"write json,{text}",
        )
    return tuple(FileFormat(word) for word in known if word in words)


def _read_moduli(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) < 17 for word in words):
        raise InputError(
            f"{text[:40]!r}", field="moduli", expected="write whole numbers, such as 5 or 5,7"
        )
    return tuple(int(word) for word in words)
