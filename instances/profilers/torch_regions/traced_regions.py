"""Tracer of a training step with checkpointed regions, for selective checkpointing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.torch_graphs.graph_assembly import step_provenance
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.instances.profilers.torch_graphs.operator_memory import (
    MeasuredMemory,
    OperatorMemory,
    TracedMemory,
)
from jettison.instances.profilers.torch_regions.recorded_regions import record_regions
from jettison.instances.profilers.torch_regions.region_graph import region_graph
from jettison.instances.profilers.torch_regions.region_modules import region_modules
from jettison.instances.remat_graph.checkpoint_regions import CheckpointRegions


def trace_regions(
    step: nn.Module,
    inputs: tuple[Tensor, ...],
    cost: OperatorCost,
    *,
    model: nn.Module,
    regions: Sequence[str] | None = None,
    name: str | None = None,
    memory: OperatorMemory | None = None,
) -> CheckpointRegions:
    """Trace a training step in which modules are checkpointed, call by call, as it runs in eager.

    Nothing is computed but to measure: the step runs once on fake tensors, with PyTorch's
    own checkpointing around each region, and each operator, and the end of each storage, is noted.
    So the memory is that of the step as Python runs it: what a variable of the model still refers
    to is there. What kernels allocate for themselves is measured where durations are, operator by
    operator in a process of their own (`MeasuredMemory`). Not seen are states of the random number
    generator.

    Parameters
    ----------
    step
        Maps the inputs to the loss; in training mode.
    inputs
        A batch and further arguments.
    cost
        Source of the durations.
    model
        The model in the step; paths of regions begin there.
    regions
        Paths of the modules that become regions; see `region_modules`.
    name
        Name of the graph.
    memory
        Source of what kernels allocate; None for one that measures where `cost` does.

    Raises
    ------
    InputError
        If the step is in evaluation mode or cannot run on fake tensors, or as `region_modules` and
        `region_graph` say.
    """
    if not step.training:
        raise InputError(
            "the model is in evaluation mode",
            field="model",
            expected="call model.train() first: a training step is what is traced",
        )
    modules = region_modules(model, regions)
    device = inputs[0].device
    sizes = memory or (TracedMemory() if cost.assumed_device else MeasuredMemory(device))
    sizes.prepare()
    with left_as_found([step], device), torch.enable_grad():
        recorded = record_regions(step, inputs, modules)
        kind = type(model).__name__
        return region_graph(
            recorded,
            tuple(modules),
            cost,
            sizes,
            name=name or f"regions-of-{kind}-{device.type}",
            provenance=step_provenance(
                inputs[0],
                cost,
                model_name=kind,
                model_arguments={},
                samples=int(inputs[0].shape[0]) if inputs[0].dim() else 1,
            ),
        )
