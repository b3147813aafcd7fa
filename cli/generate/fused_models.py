"""`jettison generate`: models that share a device, drawn at random or from networks' shapes."""

from __future__ import annotations

from typing import Annotated

import typer

from jettison.cli.arguments import checked_output
from jettison.cli.generate.drawing_command import OutputOption, drawing_command
from jettison.cli.output import write_instance
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.generators.random_models import RandomModels

app = typer.Typer()

ModelsOption = Annotated[
    int, typer.Option("--models", metavar="N", help="How many models; any number may be fused.")
]


@app.command("fused-network", short_help="Write several models of a network for multi-model.")
def generate_fused_network(
    network: Annotated[
        str, typer.Option("--network", metavar="NAME", help=f"One of: {', '.join(FUSED_NETWORKS)}.")
    ],
    output: OutputOption,
    models: ModelsOption = 8,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="B", help="Samples of each model; by default as bundled."),
    ] = None,
) -> None:
    """Write several models of a network for multi-model, from the shapes of its layers.

    Durations come from the assumed rates of an A100, which the provenance names: no device is
    measured.
    """
    checked_output(output)
    write_instance(fused_network(network, batch, models), output)


app.command("multi-model", short_help="Draw random models for multi-model.")(
    drawing_command(RandomModels, "Draw random models for multi-model.")
)
