"""Profiler of the training step of a PyTorch model as a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import util
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jettison.instances.core.errors import MissingExtraError
from jettison.instances.core.provenance import Scalar
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.remat_graph.graph import Graph

if TYPE_CHECKING:
    from torch import Tensor, nn

    from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost


def profile_graph(
    model: nn.Module,
    sample_input: Any,
    *,
    name: str,
    model_name: str,
    model_arguments: Mapping[str, Scalar] = MappingProxyType({}),
    loss: Callable[[Any], Tensor] | None = None,
    cost: OperatorCost | None = None,
    check: CostCheck = CostCheck.WARN,
) -> Graph:
    """Trace the training step of a model, and return the graph of its operations.

    The step is traced on fake tensors, `traced_step` says how; nothing is computed unless `cost`
    measures. Parameters, buffers and the input are resident and no nodes. A node's value is what
    later operations read; results that none reads are workspace. The loss and the gradients of
    parameters are kept. What a kernel allocates for itself is part of the workspace where `cost`
    measures (`MeasuredMemory`), and not seen where it does not.

    Parameters
    ----------
    model
        Any module in training mode; it need not be sequential.
    sample_input
        One batch: a tensor, a tuple of positional arguments, or a mapping of keyword arguments.
    name
        Name of the instance.
    model_name, model_arguments
        Names of the model and its arguments, for the provenance.
    loss
        Maps the model's output to a scalar; if it is not given, the mean of an output that is a
        tensor, or what the output holds as ``loss``.
    cost
        Source of the durations; a roofline with its default rates if it is not given.
    check
        What becomes of measured durations that are in doubt (`CostCheck`).

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    InputError
        If the model is in evaluation mode, or the step cannot be traced.
    """
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "tracing a model")
    # PyTorch loads when a model is traced and not before.
    from jettison.instances.profilers.torch_graphs.graph_assembly import (
        step_provenance,
        traced_graph,
    )
    from jettison.instances.profilers.torch_graphs.operator_cost import Roofline
    from jettison.instances.zoo.call_arguments import CallArguments, called_with
    from jettison.instances.zoo.model_loss import mean_or_own_loss
    from jettison.instances.zoo.workload import TrainingStep

    known: OperatorCost = Roofline() if cost is None else cost
    call = called_with(sample_input)
    arguments = CallArguments.of(*call)
    inputs = arguments.tensors(*call)
    return traced_graph(
        TrainingStep(model, loss or mean_or_own_loss, arguments).train(model.training),
        inputs,
        known,
        name=name,
        provenance=step_provenance(
            inputs[0],
            known,
            model_name=model_name,
            model_arguments=model_arguments,
            samples=int(inputs[0].shape[0]),
        ),
        check=check,
    )[0]
