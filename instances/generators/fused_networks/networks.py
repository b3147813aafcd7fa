"""The networks of µ-TWO's evaluation, as fused instances for any number of models.

Batches are those of the paper's Table 1; `tools.export_derived` writes the bundled files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.generators.fused_networks.device import A100, AssumedDevice
from jettison.instances.generators.fused_networks.fused_step import FusedStep
from jettison.instances.generators.fused_networks.mobile import mobilenet_v3
from jettison.instances.generators.fused_networks.recommender import recommender
from jettison.instances.generators.fused_networks.residual import resnet101
from jettison.instances.generators.fused_networks.transformers import (
    bert,
    gpt2,
    vision_transformer,
)
from jettison.instances.multi_model.instance import MultiModel


@dataclass(frozen=True, slots=True)
class FusedNetwork:
    """A network: builder of its step, shape of one sample, and batch of the bundled instance."""

    build: Callable[[int], FusedStep]
    sample: tuple[int, ...]
    batch: int


FUSED_NETWORKS = {
    "bert": FusedNetwork(bert, (512,), 24),
    "gpt2": FusedNetwork(gpt2, (1024,), 8),
    "vit": FusedNetwork(vision_transformer, (3, 512, 512), 8),
    "resnet101": FusedNetwork(resnet101, (3, 224, 224), 64),
    "mobilenet": FusedNetwork(mobilenet_v3, (3, 224, 224), 128),
    "dlrm": FusedNetwork(recommender, (96 * 8 + 26 + 13,), 1024),
}
"""The networks, by the name with which that of an instance begins."""


def fused_network(
    network: str, batch: int | None, models: int, device: AssumedDevice = A100
) -> MultiModel:
    """Return the multi-model instance of a network, with a profile for each number of models.

    Parameters
    ----------
    network
        A name of `FUSED_NETWORKS`.
    batch
        Samples in a step of each model; None for those of the bundled instance.
    models
        How many.
    device
        Rates that give the durations of operators and copies.

    Raises
    ------
    InputError
        If the network is unknown, or one of the numbers is out of range.
    """
    if network not in FUSED_NETWORKS:
        raise InputError(
            f"{network!r}",
            field="network",
            expected=f"name one of {', '.join(FUSED_NETWORKS)}",
        )
    found = FUSED_NETWORKS[network]
    if batch is None:
        batch = found.batch
    mark = "" if batch == found.batch else f"-b{batch}"
    return found.build(batch).multi_model(
        f"{network}{mark}-x{models}",
        models,
        network=network,
        input_shape=(batch, *found.sample),
        arguments={"models": models},
        device=device,
    )
