"""Step program: a training step with its trace, and the graph that schedules are made for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.instances.profilers.torch_graphs.graph_assembly import step_provenance, traced_graph
from jettison.instances.profilers.torch_graphs.operator_cost import Measured, OperatorCost
from jettison.instances.profilers.torch_graphs.operator_memory import (
    MeasuredMemory,
    OperatorMemory,
)
from jettison.instances.profilers.torch_graphs.traced_step import TracedStep
from jettison.instances.remat_graph.graph import Graph
from jettison.torch.errors import ExecutionError

Loss = Callable[..., Tensor]


class LossStep(nn.Module):
    """A model and its loss as one module, which maps a batch and labels to a scalar.

    Parameters
    ----------
    model
        Any module.
    loss
        Function of the output and further arguments; None if the model itself returns the scalar.
    """

    def __init__(self, model: nn.Module, loss: Loss | None) -> None:
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the loss."""
        value: Tensor
        if self.loss is None:
            value = self.model(*inputs)
        else:
            value = self.loss(self.model(inputs[0]), *inputs[1:])
        return value


@dataclass(frozen=True, slots=True)
class _Layout:
    """Layout of an input, which has to be the same in each step."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, tensor: Tensor) -> _Layout:
        return cls(tuple(tensor.size()), tuple(tensor.stride()), tensor.dtype, tensor.device)

    def __str__(self) -> str:
        return f"{self.dtype} of size {self.size} and stride {self.stride} on {self.device}"


@dataclass(frozen=True, slots=True)
class _State:
    """State of the step's modules that a trace relies on.

    Attributes
    ----------
    modules
        All of them, and None where one is absent.
    modes
        Whether each module is in training mode, and each parameter trained.
    layouts
        Layout of each parameter and buffer, and the first attribute with the same tensor.
    """

    modules: tuple[nn.Module | None, ...]
    modes: tuple[bool, ...]
    layouts: tuple[object, ...]

    @classmethod
    def of(cls, step: LossStep) -> _State:
        modules: list[nn.Module | None] = [*step._modules.values()]
        modes: list[bool] = []
        layouts: list[object] = []
        first: dict[int, int] = {}
        seen: set[nn.Module] = set()
        # Modules that are found join the list behind.
        for module in modules:
            if module is None or module in seen:
                continue
            seen.add(module)
            modules += module._modules.values()
            modes.append(module.training)
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is not None:
                    modes.append(tensor.requires_grad)
                    layouts += (first.setdefault(id(tensor), len(first)), tensor.shape)
                    layouts += (tensor.stride(), tensor.dtype, tensor.device)
        return cls(tuple(modules), tuple(modes), tuple(layouts))

    def check(self, now: _State) -> None:
        """Check that modules are as they were when the step was traced."""
        if now.modules != self.modules:
            raise ExecutionError(
                "a module was replaced, added or removed since the step was traced; trace again"
            )
        if now.layouts != self.layouts:
            raise ExecutionError(
                "a parameter or buffer has another size, stride, type or device than when the step "
                "was traced, or is shared otherwise; change it back, or trace again"
            )
        if now.modes != self.modes:
            raise ExecutionError(
                "a module has changed between training and evaluation mode, or a parameter's "
                "requires_grad has changed, since the step was traced; change it back, trace "
                "again, or call the plain model"
            )


@dataclass(frozen=True, eq=False, slots=True)
class StepProgram:
    """Step program: a traced training step and its graph, from `trace_step_program`.

    Attributes
    ----------
    step
        The model and its loss.
    graph
        The instance: one node for each operation of `traced`.
    traced
        The trace.
    inputs
        Layout that each input must have.
    autocast
        Autocast around the trace, which holds for the forward pass.
    state
        The modules of the step, their modes, and what their parameters and buffers look like.
    """

    step: LossStep
    graph: Graph
    traced: TracedStep
    inputs: tuple[_Layout, ...]
    autocast: AutocastState
    state: _State

    def check(self, inputs: Sequence[Any]) -> None:
        """Check that a step that is to run is like the one that was traced.

        Raises
        ------
        InputError
            If the inputs differ in number, size, layout, type or device, or need gradients.
        ExecutionError
            If modules, training modes, trained parameters, the layouts of parameters and buffers,
            or autocast are not as they were.
        """
        if len(inputs) != len(self.inputs):
            raise InputError(
                f"{len(inputs)} inputs, and {len(self.inputs)} in the trace",
                field="inputs",
                expected="call the step with as many tensors as the sample had",
            )
        for place, (item, expected) in enumerate(zip(inputs, self.inputs, strict=True)):
            found = _Layout.of(_checked_input(item, place))
            if found != expected:
                raise InputError(
                    f"a tensor {found}, and {expected} in the trace",
                    field=f"inputs[{place}]",
                    expected="a graph is made for one shape: drop smaller batches"
                    " (drop_last=True), or call the plain model for them",
                )
        self.state.check(_State.of(self.step))
        if not AutocastState.current(inputs[0].device).casts_like(self.autocast):
            raise ExecutionError(
                "autocast is not as it was when the step was traced; trace and call the step "
                "under the same autocast"
            )


def trace_step_program(
    model: nn.Module,
    sample_input: Tensor,
    *,
    loss: Loss | None,
    sample_loss_arguments: Sequence[Tensor] = (),
    name: str | None = None,
    cost: OperatorCost | None = None,
    memory: OperatorMemory | None = None,
    warmup: int = 2,
    repeats: int = 7,
    threads: int = 1,
    check: CostCheck = CostCheck.WARN,
) -> StepProgram:
    """Trace a training step of any model, and measure its operations one by one.

    The trace is the step on these inputs: Python code of the model runs once, so that what it
    decides or computes without tensors stays as it is. Where durations are measured and checked it
    runs four times more, in whole steps, which leave buffers, gradients and generators as they
    were.

    Parameters
    ----------
    model
        In training mode. It is shared, not copied.
    sample_input
        One batch.
    loss
        A module or function of the output and further arguments; None if the model returns the
        loss itself, as a function of `sample_input` and the further arguments.
    sample_loss_arguments
        The further arguments, tensors.
    name
        Name of the graph.
    cost
        Source of the durations; measured on the device of the sample if it is not given.
    memory
        Source of the sizes; measured if it is not given, whatever the durations are: the step will
        run on this device, and each kernel takes there what it takes.
    warmup, repeats
        Runs of each operation before, and for, its measurement.
    threads
        Threads that durations are measured with on a CPU: their ratios count, and with one they
        vary least. Memory is measured with as many as are set, which the step will run with.
    check
        What becomes of durations that are in doubt: see `CostCheck`.

    Raises
    ------
    InputError
        If the step cannot be traced, writes to its inputs, or needs gradients of them.
    """
    inputs = (sample_input, *sample_loss_arguments)
    for place, item in enumerate(inputs):
        _checked_input(item, place)
    # Inputs that are one tensor now need not be one in a later step.
    distinct = tuple(item.detach() for item in inputs)
    device = sample_input.device
    known = cost or Measured(device, warmup=warmup, repeats=repeats, threads=threads)
    step = LossStep(model, loss)
    step.training = model.training
    kind = type(model).__name__
    graph, traced = traced_graph(
        step,
        distinct,
        known,
        name=name or f"step-of-{kind}-{device.type}",
        memory=memory or MeasuredMemory(device),
        check=check,
        provenance=step_provenance(
            sample_input,
            known,
            model_name=kind,
            model_arguments={},
            samples=int(sample_input.shape[0]) if sample_input.dim() else 1,
        ),
    )
    if traced.changed_inputs:
        raise InputError(
            "the step modifies its input in place, so that no operation can be repeated",
            field="model",
            expected="set inplace=False in the first layer, or give the model a clone()",
        )
    return StepProgram(
        step=step,
        graph=graph,
        traced=traced,
        inputs=tuple(map(_Layout.of, inputs)),
        autocast=AutocastState.current(device),
        state=_State.of(step),
    )


def _checked_input(item: Any, place: int) -> Tensor:
    if type(item) is not Tensor or item.layout != torch.strided:
        raise InputError(
            f"a {type(item).__name__} is not a dense tensor",
            field=f"inputs[{place}]",
            expected="give a batch, and what the loss takes besides, as tensors",
        )
    if item.device.type not in {"cpu", "cuda"}:
        raise InputError(
            f"the device {item.device}",
            field=f"inputs[{place}]",
            expected="move the model and the input to a CPU or CUDA device",
        )
    if item.is_inference():
        raise InputError(
            "an inference tensor, of which nobody knows whether it has been written to",
            field=f"inputs[{place}]",
            expected="make it outside torch.inference_mode(), or clone() it there",
        )
    if item.requires_grad:
        raise InputError(
            "an input requires a gradient, which no operation of the trace would compute",
            field=f"inputs[{place}]",
            expected="detach() it, or make it a parameter of the model",
        )
    return item
