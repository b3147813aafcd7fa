"""Profiler of several PyTorch models as one multi-model instance, from fused training steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import util
from types import MappingProxyType
from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.core.provenance import Scalar
from jettison.instances.multi_model.fused_profile import fused_profile
from jettison.instances.multi_model.instance import LARGEST_MODELS, MultiModel
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.remat_graph.graph import Graph

if TYPE_CHECKING:
    from torch import Tensor, nn

    from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost


def profile_multi_model(
    model: nn.Module,
    sample_input: Tensor,
    loss: Callable[[Tensor], Tensor],
    cost: OperatorCost,
    *,
    models: int,
    bandwidth: int,
    name: str,
    model_name: str,
    model_arguments: Mapping[str, Scalar] = MappingProxyType({}),
    check: CostCheck = CostCheck.WARN,
) -> MultiModel:
    """Trace models fused through ``vmap``, and return the multi-model instance.

    For each number the step is fused through ``vmap`` and traced as `profile_graph` does. One model
    alone may be another program than several, with fewer copies: then it is left out of the numbers
    that may be fused, and the note says so. The static memory holds weights, their gradients,
    buffers and batches, without states of an optimizer.

    Parameters
    ----------
    model, sample_input, loss
        One of the models, and one batch; all models are alike.
    cost
        Source of the durations.
    models
        Number of models, 1 to 64.
    bandwidth
        Bandwidth of each direction of the link to the host, in bytes per second.
    name, model_name, model_arguments
        Names of the instance and of the model, and its arguments, for the provenance.
    check
        What becomes of measured durations that are in doubt (`CostCheck`).

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    InputError
        If there are too many models, the step cannot be fused or traced, or its program depends on
        the number of models otherwise.
    """
    if not 1 <= models <= LARGEST_MODELS:
        raise InputError(f"{models}", field="models", expected=f"write 1 to {LARGEST_MODELS}")
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "tracing a model")
    from dataclasses import replace

    import torch

    from jettison.instances.profilers.torch_graphs.graph_assembly import (
        assemble_graph,
        step_provenance,
    )
    from jettison.instances.zoo.vmap_step import FusedStep
    from jettison.instances.zoo.workload import TrainingStep

    step = TrainingStep(model, loss)
    provenance = step_provenance(
        sample_input,
        cost,
        model_name=model_name,
        model_arguments=model_arguments,
        samples=int(sample_input.shape[0]),
    )
    graphs: dict[int, Graph] = {}
    static_bytes: dict[int, int] = {}
    for size in range(1, models + 1):
        fused = FusedStep([step] * size)
        batches = torch.stack([sample_input] * size)
        graphs[size] = assemble_graph(
            fused, batches, cost, name=f"{name} {size}", provenance=provenance, check=check
        )
        static_bytes[size] = fused.static_bytes(batches)
    note = f"{cost.note}; static memory: weights, their gradients, buffers, batches"
    if models > 1 and _program(graphs[1]) != _program(graphs[2]):
        del graphs[1], static_bytes[1]
        note += "; one model alone is another program and left out"
    return fused_profile(
        name,
        graphs,
        static_bytes,
        bandwidth=bandwidth,
        models=models,
        # The machine as it was while the last step was measured.
        provenance=replace(provenance, machine=graphs[models].provenance.machine, note=note),
    )


def _program(graph: Graph) -> list[tuple[str, tuple[str, ...]]]:
    return [(node.name, node.inputs) for node in graph.nodes]
