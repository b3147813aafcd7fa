"""`jettison generate`: models that share a device, drawn at random or from networks' shapes."""

from __future__ import annotations

from typing import Annotated

import typer

from jettison.cli.arguments import checked_output
from jettison.cli.generate.drawing_command import OutputOption, drawing_command
from jettison.cli.output import write_instance
from jettison.instances.catalog import load
from jettison.instances.core.errors import InputError
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.joined import joined_models

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

    Example: jettison generate fused-network --network gpt2 --batch 2 --models 16 -o
    gpt2-x16.json
    """
    checked_output(output)
    write_instance(fused_network(network, batch, models), output)


@app.command("joined-models", short_help="Join models of several architectures for multi-model.")
def generate_joined_models(
    instances: Annotated[
        list[str],
        typer.Argument(metavar="INSTANCE...", help="Bundled names or files, at least two."),
    ],
    output: OutputOption,
    models: Annotated[
        str | None,
        typer.Option(
            "--models", metavar="N,N", help="How many of each architecture; by default all."
        ),
    ] = None,
) -> None:
    """Join models of several architectures, which are then trained together.

    Only models of one architecture are fused; a pair of sub-arrays may join two.

    Example: jettison generate joined-models bert-x8 gpt2-x8 --models 2,2 -o both.json
    """
    checked_output(output)
    loaded = [load(name) for name in instances]
    found = [item for item in loaded if isinstance(item, MultiModel)]
    if len(found) < len(loaded):
        other = next(item for item in loaded if not isinstance(item, MultiModel))
        raise InputError(
            f"{other.name} is a {other.kind}", field="instances", expected="give multi-model ones"
        )
    words = [] if models is None else models.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise InputError(f"{models!r}", field="models", expected="write numbers, such as 4,4")
    write_instance(joined_models(found, models=[int(word) for word in words]), output)


app.command("multi-model", short_help="Draw random models for multi-model.")(
    drawing_command(
        RandomModels,
        "Draw random models for multi-model.\n\n"
        "Example: jettison generate multi-model --operators 200 --models 4 -o models.json",
    )
)
