"""`jettison generate`: models that share a device, drawn at random or from networks' shapes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import checked_output
from jettison.cli.generate.command import SeedOption
from jettison.instances.catalog import save
from jettison.instances.core.link import parse_link
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.instance import MultiModel

app = typer.Typer()

OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The instance to write (.json).")
]
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
        typer.Option(
            "--batch", metavar="B", help="Samples of each model; that of the bundled one."
        ),
    ] = None,
) -> None:
    """Write several models of a network for multi-model, from the shapes of its layers.

    Durations come from the assumed rates of an A100, which the provenance names: no device is
    measured.
    """
    checked_output(output)
    _save(fused_network(network, batch, models), output)


@app.command("multi-model")
def generate_multi_model(
    operators: Annotated[
        int, typer.Option("--operators", metavar="N", help="Operators of both passes.")
    ],
    output: OutputOption,
    seed: SeedOption = 0,
    models: ModelsOption = 4,
    tensors: Annotated[
        int | None,
        typer.Option(
            "--tensors", metavar="T", help="Feature maps; half of the operators by default."
        ),
    ] = None,
    reach: Annotated[
        int,
        typer.Option("--reach", metavar="N", help="Operators between two uses in a pass, at most."),
    ] = 3,
    most_ns: Annotated[
        int, typer.Option("--most-ns", metavar="NS", help="Longest operator of one model.")
    ] = 1000,
    size: Annotated[
        int, typer.Option("--size", metavar="BYTES", help="Largest feature map of one model.")
    ] = 1000,
    shared: Annotated[
        int,
        typer.Option(
            "--shared", metavar="PERCENT", help="Of an operator's time, paid once for all fused."
        ),
    ] = 30,
    timed: Annotated[
        int,
        typer.Option(
            "--timed", metavar="PERCENT", help="Feature maps whose copies have their own time."
        ),
    ] = 0,
    bandwidth: Annotated[
        str, typer.Option("--bandwidth", metavar="RATE", help="Of the link, each way.")
    ] = "1GB/s",
) -> None:
    """Draw random models for multi-model."""
    checked_output(output)
    drawn = RandomModels(
        operators=operators,
        tensors=operators // 2 if tensors is None else tensors,
        models=models,
        reach=reach,
        most_ns=most_ns,
        most_bytes=size,
        shared_percent=shared,
        timed_percent=timed,
        bandwidth=parse_link(bandwidth).bytes_per_s,
    ).draw(seed)
    _save(drawn, output)


def _save(instance: MultiModel, output: Path) -> None:
    save(instance, output)
    sys.stderr.write(
        f"wrote {output}: {instance.kind} {instance.name}, {len(instance)} operators, "
        f"{len(instance.feature_maps)} feature maps\n"
    )
