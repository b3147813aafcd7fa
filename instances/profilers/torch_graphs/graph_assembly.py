"""Assembly of the traced operations of a step and their durations as a graph."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.profilers.device.device_name import device_name, library_versions
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.instances.profilers.torch_graphs.traced_step import TracedStep, trace_step
from jettison.instances.remat_graph.graph import Graph, Node


def assemble_graph(
    step: nn.Module,
    batch: Tensor,
    cost: OperatorCost,
    *,
    name: str,
    provenance: Provenance,
) -> Graph:
    """Trace the step and return its graph."""
    return traced_graph(step, (batch,), cost, name=name, provenance=provenance)[0]


def traced_graph(
    step: nn.Module,
    inputs: tuple[Tensor, ...],
    cost: OperatorCost,
    *,
    name: str,
    provenance: Provenance,
) -> tuple[Graph, TracedStep]:
    """Trace the step; return its graph and the trace, whose operations are the nodes in order."""
    if not isinstance(step, torch.nn.Module) or not step.training:
        raise InputError(
            "the model is in evaluation mode",
            field="model",
            expected="call model.train() first: a training step is what is traced",
        )
    with left_as_found([step], inputs[0].device):
        traced = trace_step(step, inputs)
        spreads = [
            (0, 0, 0) if operation.is_selection else cost.spread_ns(operation)
            for operation in traced.operations
        ]
    nodes = tuple(
        Node(
            name=operation.name,
            duration_ns=spread[1],
            output_bytes=operation.output_bytes,
            inputs=operation.inputs,
            workspace_bytes=operation.unread_bytes,
            backward=operation.backward,
            keep=operation.keep,
            result_of=operation.inputs[0] if operation.is_selection else None,
            operator_name=operation.operator_name,
        )
        for operation, spread in zip(traced.operations, spreads, strict=True)
    )
    return Graph(name, nodes, provenance=provenance), traced


def step_provenance(
    batch: Tensor,
    cost: OperatorCost,
    *,
    model_name: str,
    model_arguments: Mapping[str, Scalar],
    samples: int,
) -> Provenance:
    """Return the provenance of a traced step: model, device, and source of the durations."""
    device = batch.device
    return Provenance(
        source=cost.source,
        device=cost.assumed_device or device_name(device),
        device_kind="cuda" if cost.assumed_device else device.type,
        date=datetime.now(UTC).date().isoformat(),
        exporter=f"jettison {metadata.version('jettison')}",
        libraries=library_versions(device),
        model=model_name,
        model_arguments=model_arguments,
        batch=samples,
        input_shape=tuple(int(extent) for extent in batch.shape),
        dtype=str(batch.dtype).removeprefix("torch."),
        note=cost.note,
    )
