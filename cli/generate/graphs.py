"""`jettison generate`: graphs, drawn at random or from the shapes of networks."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import checked_output, read_mesh
from jettison.cli.generate.command import SeedOption
from jettison.instances.catalog import save
from jettison.instances.core.errors import InputError
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.instances.generators.training_networks import NETWORKS
from jettison.instances.tensor_programs.program_names import NAMES, program_of
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh

app = typer.Typer()


class Fastest(StrEnum):
    """Whether a sharded graph names its fastest plan without a limit on memory."""

    SOLVE = "solve"
    SKIP = "skip"


@app.command("training-graph", short_help="Write the graph of a network's training step.")
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


@app.command("sharded-graph", short_help="Write a training step on a mesh of V100 cards.")
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
            help="Solve for the fastest plan without a memory limit, which shares of memory need "
            "(of several, one with the least peak); or skip it.",
        ),
    ] = Fastest.SOLVE,
) -> None:
    """Write a training step on a mesh of V100 cards: strategies, their costs, and resharding.

    Durations come from shapes and assumed rates, which the provenance names: no device is measured.
    """
    checked_output(output)
    steps = program_of(program)
    shape = read_mesh(mesh)
    slow = f"-slow{slowdown}" if slowdown > 1 else ""
    graph = on_v100_mesh(steps, shape, slowdown, f"{steps.name}-mesh{mesh}{slow}")
    if fastest is Fastest.SOLVE:
        from jettison.solvers.remat_sharding.fastest_plan import with_fastest

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


@app.command("strategy-graph", short_help="Draw a random strategy graph for sharding.")
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
