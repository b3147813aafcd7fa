"""`jettison generate`: graphs drawn at random or made from the shapes of networks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import checked_output, read_mesh
from jettison.cli.generate.drawing_command import drawing_command
from jettison.cli.output import write_instance
from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.instances.generators.training_networks import NETWORKS, training_graph
from jettison.instances.tensor_programs.program_names import NAMES, program_of
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh

app = typer.Typer()


class Fastest(StrEnum):
    """Whether a sharded graph gets the fastest plan without a limit on memory."""

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

    Durations are numbers of operations divided by a rate: only their proportions are meaningful.

    Example: jettison generate training-graph --network u-net --batch 8 -o u-net.json
    """
    checked_output(output)
    write_instance(training_graph(network, batch), output)


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
        typer.Option("--slowdown", metavar="N", help="Divisor of the bandwidths between devices."),
    ] = 1,
    fastest: Annotated[
        Fastest,
        typer.Option(
            "--fastest",
            help="Solve for the fastest plan without a memory limit, to which shares of memory "
            "refer (of several, one with the least peak); or skip it.",
        ),
    ] = Fastest.SOLVE,
) -> None:
    """Write a training step on a mesh of V100 cards: strategies, their costs, and resharding.

    Durations come from shapes and assumed rates, which the provenance names: no device is measured.

    Example: jettison generate sharded-graph --program mlp-26 --mesh 2x4 -o sharded.json
    """
    checked_output(output)
    steps = program_of(program)
    shape = read_mesh(mesh)
    slow = f"-slow{slowdown}" if slowdown > 1 else ""
    graph = on_v100_mesh(steps, shape, slowdown, f"{steps.name}-mesh{mesh}{slow}")
    if fastest is Fastest.SOLVE:
        from jettison.solvers.remat_sharding.fastest_plan import with_fastest

        graph = with_fastest(graph)
    write_instance(graph, output)


app.command("layered-graph", short_help="Draw a random layered graph for remat-graph.")(
    drawing_command(
        LayeredGraphs,
        "Draw a random layered graph for remat-graph.\n\n"
        "The defaults have the statistics of the random layered graphs that MOCCASIN was measured "
        "on.\n\n"
        "Example: jettison generate layered-graph --nodes 100 --seed 1 -o layered.json",
    )
)
app.command("strategy-graph", short_help="Draw a random strategy graph for sharding.")(
    drawing_command(
        StrategyGraphs,
        "Draw a random strategy graph for sharding, with a limit of its own.\n\n"
        "Edges between unequal layouts cost resharding; sharded layouts use less memory and cost "
        "more.\n\n"
        "Example: jettison generate strategy-graph --nodes 60 -o strategies.json",
    )
)
