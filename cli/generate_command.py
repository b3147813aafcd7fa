"""`jettison generate`: hard instances of known answer, and random graphs, for testing solvers."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import checked_output
from jettison.cli.instance_set import (
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
from jettison.instances.catalog import save
from jettison.instances.errors import InputError
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    Family,
    family_of,
    generate_three_partition,
    set_name,
)
from jettison.instances.generators.training_networks import NETWORKS
from jettison.instances.json_file import json_text
from jettison.instances.tensor_programs.program_names import NAMES, program_of
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh

app = typer.Typer(
    help="Generate hard instances of known answer, with proofs, and random graphs.",
    no_args_is_help=True,
)

_FAMILY_HELP = "; ".join(
    f"{family.name} ({family.answer}: {family.summary})" for family in FAMILIES.values()
)


class PartitionModel(StrEnum):
    """The integer programs of 3-PARTITION."""

    ANY_GROUP = ModelKind.ANY_GROUP.value
    LED_BY_LARGEST = ModelKind.LED_BY_LARGEST.value
    TRIPLES = ModelKind.TRIPLES.value


class Fastest(StrEnum):
    """Whether a sharded graph names its fastest plan without a limit on memory."""

    SOLVE = "solve"
    SKIP = "skip"


GroupsOption = Annotated[
    int, typer.Option("--groups", metavar="M", help="Number of groups; there are 3 M items.")
]
TargetOption = Annotated[int, typer.Option("--target", metavar="V", help="Sum of every group.")]
AnswerOption = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="yes|no",
        help="The answer of all instances; without --family it takes planted or residue.",
    ),
]
FamilyOption = Annotated[
    str | None, typer.Option("--family", metavar="NAME", help=f"One of: {_FAMILY_HELP}.")
]
ModuliOption = Annotated[
    str | None,
    typer.Option(
        "--moduli", metavar="Q", help="Of residue one (5 by default), of split two (5,7)."
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="The same seed gives the same bytes anywhere.")
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
        help="json, which holds the certificate, and after commas mps and lp.",
    ),
]
ModelOption = Annotated[
    PartitionModel,
    typer.Option(
        "--model",
        help="The integer program of mps and lp: items to numbered groups, items to the largest "
        "item of their group, or one column for each triple.",
    ),
]


@app.command("three-partition")
def generate_partitions(
    groups: GroupsOption,
    target: TargetOption,
    output: OutputOption,
    answer: AnswerOption = None,
    family: FamilyOption = None,
    moduli: ModuliOption = None,
    seed: SeedOption = 0,
    count: CountOption = 1,
    formats: FormatOption = "json",
    model: ModelOption = PartitionModel.ANY_GROUP,
) -> None:
    """Group 3 M items in threes of sum V (3-PARTITION).

    Every instance comes with its answer and a certificate that `jettison verify` checks: the groups
    for yes, an argument that needs no search for no. The folder also holds the answers in MIPLIB's
    .solu format, and an index with the SHA-256 of every file.
    """
    _generate(
        SetProblem.THREE_PARTITION,
        family_of(family, answer),
        (groups, target),
        _read_moduli(moduli),
        (seed, count),
        output,
        _read_formats(formats),
        ModelKind(model.value),
    )


@app.command("weight-offload")
def generate_weight_offload(
    groups: GroupsOption,
    target: TargetOption,
    output: OutputOption,
    answer: AnswerOption = None,
    family: FamilyOption = None,
    moduli: ModuliOption = None,
    seed: SeedOption = 0,
    count: CountOption = 1,
    formats: FormatOption = "json",
) -> None:
    """Offload weights as fast as 3-PARTITION allows.

    Each chain comes with the 3-PARTITION that it is made from, and that one's certificate. Memory
    and bandwidth are in the index. On yes the shortest period is 2 M V ns, on no it is longer. As
    mps and lp stands the mixed-integer bound on the period, whose objective is idle time.
    """
    _generate(
        SetProblem.WEIGHT_OFFLOAD,
        family_of(family, answer),
        (groups, target),
        _read_moduli(moduli),
        (seed, count),
        output,
        _read_formats(formats),
        ModelKind.OFFLOAD_BOUND,
    )


@app.command("triplets")
def generate_triplets(
    groups: GroupsOption,
    output: OutputOption,
    target: TargetOption = 1000,
    seed: SeedOption = 0,
    count: CountOption = 1,
    formats: FormatOption = "json",
    model: ModelOption = PartitionModel.ANY_GROUP,
) -> None:
    """Fill bins of 1000 with three items each (Falkenauer).

    These are 3-PARTITION instances of answer yes with one large and two small items per group.
    """
    _generate(
        SetProblem.THREE_PARTITION,
        FAMILIES["triplets"],
        (groups, target),
        (),
        (seed, count),
        output,
        _read_formats(formats),
        ModelKind(model.value),
    )


@app.command("training-graph")
def generate_training_graph(
    network: Annotated[
        str, typer.Option("--network", metavar="NAME", help=f"One of: {', '.join(NETWORKS)}.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The graph to write (.json).")
    ],
    batch: Annotated[int, typer.Option("--batch", metavar="B", help="Samples in a step.")] = 32,
) -> None:
    """Write the graph of a network's training step, from the shapes of its layers.

    Durations are operations over a rate, and so only their proportions mean something.
    """
    checked_output(output)
    if network not in NETWORKS:
        raise InputError(network, field="network", expected=f"name one of {', '.join(NETWORKS)}")
    graph = NETWORKS[network](batch)
    save(graph, output)
    sys.stderr.write(f"wrote {output}: graph {graph.name}, {len(graph)} nodes\n")


@app.command("sharded-graph")
def generate_sharded_graph(
    program: Annotated[
        str,
        typer.Option(
            "--program", metavar="NAME", help=f"One of: {NAMES}; or a tensor program (.json)."
        ),
    ],
    mesh: Annotated[
        str, typer.Option("--mesh", metavar="SHAPE", help="Devices, 8 or 2x4 say: nodes x devices.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The graph to write (.json).")
    ],
    slowdown: Annotated[
        int,
        typer.Option(
            "--slowdown", metavar="N", help="What the bandwidths between devices are divided by."
        ),
    ] = 1,
    fastest: Annotated[
        Fastest,
        typer.Option(
            "--fastest",
            help="Solve for the fastest plan without a memory limit, which shares of memory need; "
            "or skip it.",
        ),
    ] = Fastest.SOLVE,
) -> None:
    """Write a training step on a mesh of V100 cards: strategies, their costs, and resharding.

    Durations come from shapes and assumed rates, which the provenance names: no device is measured.
    """
    checked_output(output)
    steps = program_of(program)
    shape = _read_mesh(mesh)
    slow = f"-slow{slowdown}" if slowdown > 1 else ""
    graph = on_v100_mesh(steps, shape, slowdown, f"{steps.name}-mesh{mesh}{slow}")
    if fastest is Fastest.SOLVE:
        from jettison.solvers.fastest_sharding import with_fastest

        graph = with_fastest(graph)
    save(graph, output)
    sys.stderr.write(f"wrote {output}: sharded graph {graph.name}, {len(graph)} operators\n")


@app.command("layered-graph")
def generate_layered_graph(
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Number of nodes.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The graph to write (.json).")
    ],
    seed: SeedOption = 0,
    layers: Annotated[
        int,
        typer.Option(
            "--layers",
            metavar="L",
            help="Layers between source and sink; 0: twice the square root of the nodes.",
        ),
    ] = 0,
    density: Annotated[
        int,
        typer.Option(
            "--density", metavar="PERCENT", help="Of pairs in adjacent layers that have an edge."
        ),
    ] = 20,
    skips: Annotated[
        int, typer.Option("--skips", metavar="PERCENT", help="Of edges that skip a layer or more.")
    ] = 14,
    least_ns: Annotated[
        int, typer.Option("--least-ns", metavar="NS", help="Shortest duration.")
    ] = 0,
    most_ns: Annotated[int, typer.Option("--most-ns", metavar="NS", help="Longest one.")] = 1000,
    size: Annotated[
        int,
        typer.Option(
            "--size", metavar="BYTES", help="Standard deviation of sizes; the mean is .8."
        ),
    ] = 2560,
    passes: Annotated[
        Passes,
        typer.Option("--passes", help="The forward graph alone, or mirrored by a backward one."),
    ] = Passes.FORWARD,
) -> None:
    """Draw a random layered graph for remat-graph.

    The defaults have the statistics of the random layered graphs that MOCCASIN was measured on.
    """
    checked_output(output)
    graph = LayeredGraphs(
        nodes=nodes,
        layers=layers,
        density_percent=density,
        skip_percent=skips,
        least_ns=least_ns,
        most_ns=most_ns,
        size_bytes=size,
        passes=passes,
    ).draw(seed)
    save(graph, output)
    sys.stderr.write(f"wrote {output}: graph {graph.name}, {len(graph)} nodes\n")


@app.command("strategy-graph")
def generate_strategy_graph(
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Number of nodes.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The graph to write (.json).")
    ],
    seed: SeedOption = 0,
    layouts: Annotated[
        int, typer.Option("--layouts", metavar="L", help="Layouts that each node can have.")
    ] = 4,
    variants: Annotated[
        int, typer.Option("--variants", metavar="V", help="Strategies of each layout.")
    ] = 2,
    window: Annotated[
        int, typer.Option("--window", metavar="W", help="How many nodes back edges go.")
    ] = 8,
    density: Annotated[
        int, typer.Option("--density", metavar="PERCENT", help="Nodes that have one more edge.")
    ] = 30,
    followers: Annotated[
        int,
        typer.Option("--followers", metavar="PERCENT", help="Nodes with the layout of another."),
    ] = 50,
    forbidden: Annotated[
        int,
        typer.Option("--forbidden", metavar="PERCENT", help="Of pairs of unequal layouts."),
    ] = 20,
    most_ns: Annotated[
        int, typer.Option("--most-ns", metavar="NS", help="Largest cost of a node.")
    ] = 1000,
    size: Annotated[
        int, typer.Option("--size", metavar="BYTES", help="Largest usage of a node.")
    ] = 2**20,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="PERCENT", help="Memory, of the peak without sharding."),
    ] = 50,
) -> None:
    """Draw a random strategy graph for sharding, with a limit of its own.

    Edges between unequal layouts cost resharding; sharded layouts use less memory and cost more.
    """
    checked_output(output)
    graph = StrategyGraphs(
        nodes=nodes,
        layouts=layouts,
        variants=variants,
        window=window,
        density_percent=density,
        follower_percent=followers,
        forbidden_percent=forbidden,
        most_ns=most_ns,
        most_bytes=size,
        limit_percent=limit,
    ).draw(seed)
    save(graph, output)
    sys.stderr.write(f"wrote {output}: {graph.kind} {graph.name}, {len(graph)} nodes\n")


def _generate(
    problem: SetProblem,
    family: Family,
    size: tuple[int, int],
    moduli: tuple[int, ...],
    draw: tuple[int, int],
    output: Path,
    formats: tuple[FileFormat, ...],
    model: ModelKind,
) -> None:
    (groups, target), (seed, count) = size, draw
    if not 1 <= count <= LARGEST_COUNT:
        raise InputError(f"{count}", field="count", expected=f"write 1 to {LARGEST_COUNT}")
    check_new_folder(output)
    instances = [
        generate_three_partition(family, groups, target, seed=seed, number=number, moduli=moduli)
        for number in range(count)
    ]
    # No file leaves this program that its own check would refuse.
    for instance in instances:
        instance.proof()
    mark = "" if problem is SetProblem.THREE_PARTITION else f"{problem}-"
    layout = SetLayout(
        f"{mark}{set_name(family, groups, target, moduli=moduli, seed=seed)}",
        problem,
        formats,
        model,
    )
    files = layout.files(instances)
    entries = [file_entry(name, text.encode("ascii")) for name, text in files.items()]
    files[INDEX] = json_text(layout.index(instances, entries))
    write_folder(output, files)
    sys.stderr.write(
        f"wrote {output}: {count} x {problem} of family {family.name}, answer {family.answer}, "
        f"{len(files)} files\n"
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


def _read_mesh(text: str) -> tuple[int, ...]:
    words = text.split("x")
    if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
        raise InputError(f"{text[:40]!r}", field="mesh", expected="write 8 or 2x4, say")
    return tuple(int(word) for word in words)


def _read_moduli(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) < 17 for word in words):
        raise InputError(
            f"{text[:40]!r}", field="moduli", expected="write whole numbers, such as 5 or 5,7"
        )
    return tuple(int(word) for word in words)
