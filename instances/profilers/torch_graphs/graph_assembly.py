"""Assembly of the traced operations of a step and their durations as a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.profilers.cost_check import CostCheck, CostFigures, fair_sample
from jettison.instances.profilers.device.device_name import device_name, library_versions
from jettison.instances.profilers.device.machine_watch import MachineWatch
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.device.threads import use_allocator
from jettison.instances.profilers.device.timing import Spread
from jettison.instances.profilers.earlier_profiles import OF_THIS_PROGRAM, profile_key
from jettison.instances.profilers.torch_graphs.operation_reader import TracedOperation
from jettison.instances.profilers.torch_graphs.operator_cost import CostSource, OperatorCost
from jettison.instances.profilers.torch_graphs.operator_memory import (
    MeasuredMemory,
    OperatorMemory,
    TracedMemory,
)
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
    trace_step,
)
from jettison.instances.profilers.whole_steps import whole_steps_ns
from jettison.instances.remat_graph.graph import Graph, Node


def assemble_graph(
    step: nn.Module,
    batch: Tensor,
    cost: OperatorCost,
    *,
    name: str,
    provenance: Provenance,
    check: CostCheck = CostCheck.WARN,
) -> Graph:
    """Trace the step and return its graph."""
    return traced_graph(step, (batch,), cost, name=name, provenance=provenance, check=check)[0]


def traced_graph(
    step: nn.Module,
    inputs: tuple[Tensor, ...],
    cost: OperatorCost,
    *,
    name: str,
    provenance: Provenance,
    memory: OperatorMemory | None = None,
    check: CostCheck = CostCheck.WARN,
) -> tuple[Graph, TracedStep]:
    """Trace the step; return its graph and the trace, whose operations are the nodes in order.

    Without `memory` sizes are measured where durations are, on the device of the inputs. Measured
    durations are checked: their sum against a few whole steps, where these fit the memory.
    """
    if not isinstance(step, torch.nn.Module) or not step.training:
        raise InputError(
            "the model is in evaluation mode",
            field="model",
            expected="call model.train() first: a training step is what is traced",
        )
    device = inputs[0].device
    sizes = memory or (TracedMemory() if cost.assumed_device else MeasuredMemory(device))
    sizes.prepare()
    resident_bytes = _storage_bytes((*step.parameters(), *step.buffers(), *inputs))
    with left_as_found([step], device):
        traced = sizes.sized(trace_step(step, inputs))
        if not cost.threads:
            spreads = _spreads(traced, cost, lambda: None)
            return _graph(name, traced, spreads, provenance, resident_bytes), traced
        use_allocator()
        watch = MachineWatch(device, cost.threads)
        spreads = _spreads(traced, cost, watch.look)
        graph = _graph(name, traced, spreads, provenance, resident_bytes)
        key = profile_key(graph, str(device), cost.threads)
        earlier_ns = OF_THIS_PROGRAM.add(key, sum(spread[1] for spread in spreads))
        if check is CostCheck.TRUST:
            machine = watch.state()
        else:
            figures = _figures(step, inputs, cost, graph, traced, spreads)
            machine = watch.state()
            replace(figures, machine=machine, earlier_ns=earlier_ns).settle(check, name)
    watched = replace(provenance, machine=machine.to_provenance())
    return replace(graph, provenance=watched), traced


def _spreads(traced: TracedStep, cost: OperatorCost, between: Callable[[], None]) -> list[Spread]:
    found: list[Spread] = []
    for operation in traced.operations:
        if operation.is_selection:
            found.append((0, 0, 0))
            continue
        found.append(cost.spread_ns(operation))
        between()
    return found


def _graph(
    name: str,
    traced: TracedStep,
    spreads: Sequence[Spread],
    provenance: Provenance,
    resident_bytes: int,
) -> Graph:
    nodes = _nodes(traced, spreads)
    return Graph(name, nodes, provenance=provenance, resident_bytes=resident_bytes)


def _storage_bytes(tensors: Iterable[Tensor]) -> int:
    """Return the size of the storages of tensors, each counted once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sum({storage._cdata: storage.nbytes() for storage in storages}.values())


def _nodes(traced: TracedStep, spreads: Sequence[Spread]) -> tuple[Node, ...]:
    return tuple(
        traced_node(operation, spread[1])
        for operation, spread in zip(traced.operations, spreads, strict=True)
    )


def traced_node(operation: TracedOperation, duration_ns: int) -> Node:
    """Return the node of a graph that stands for a traced operation."""
    if operation.is_selection:
        return Node(
            name=operation.name,
            duration_ns=0,
            output_bytes=operation.output_bytes,
            inputs=operation.inputs,
            backward=operation.backward,
            keep=operation.keep,
            result_of=operation.inputs[0],
        )
    # The workspace of an operation without a value includes its results.
    own_bytes = 0 if operation.is_parted else operation.output_bytes
    return Node(
        name=operation.name,
        duration_ns=duration_ns,
        output_bytes=own_bytes,
        inputs=operation.inputs,
        workspace_bytes=operation.workspace_bytes + operation.output_bytes - own_bytes,
        backward=operation.backward,
        keep=operation.keep,
        has_value=not operation.is_parted,
        operator_name=operation.operator_name,
    )


def _figures(
    step: nn.Module,
    inputs: tuple[Tensor, ...],
    cost: OperatorCost,
    graph: Graph,
    traced: TracedStep,
    spreads: Sequence[Spread],
) -> CostFigures:
    sample = fair_sample([spread[1] for spread in spreads])
    again = [cost.measured_again(traced.operations[place]) for place in sample]

    def loss() -> Tensor:
        value: Tensor = step(*inputs)
        return value

    return CostFigures(
        spreads=tuple(spreads),
        step_ns=whole_steps_ns(
            loss,
            tuple(step.parameters()),
            inputs[0].device,
            peak_bytes=graph.store_all_peak_bytes,
            threads=cost.threads,
        ),
        sample_ns=sum(spreads[place][1] for place in sample),
        again_ns=sum(spread[1] for spread in again),
    )


def step_provenance(
    batch: Tensor,
    cost: CostSource,
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
