"""Step program: a training step with its trace, and the graph that schedules are made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
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
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
)
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.zoo.call_arguments import CallArguments, called_with
from jettison.instances.zoo.model_loss import own_loss
from jettison.torch.errors import ExecutionError

Loss = Callable[..., Tensor]

# Arguments that hold no tensors, and whose values a trace may hold on to.
_CONSTANTS = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    Enum,
    torch.dtype,
    torch.device,
    torch.Size,
    torch.memory_format,
)


class LossStep(nn.Module):
    """A model and its loss as one module, which maps a batch and labels to a scalar.

    Parameters
    ----------
    model
        Any module.
    loss
        Function of the output and further arguments; None if the model itself returns the scalar,
        or an output that holds it (`own_loss`).
    model_inputs
        Number of positional arguments that are the model's; the others are those of the loss.
    """

    def __init__(self, model: nn.Module, loss: Loss | None, *, model_inputs: int = 1) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.model_inputs = model_inputs

    def forward(self, *inputs: Any, **keywords: Any) -> Tensor:
        """Return the loss; keyword arguments are the model's."""
        if self.loss is None:
            return own_loss(self.model(*inputs, **keywords))
        output = self.model(*inputs[: self.model_inputs], **keywords)
        return self.loss(output, *inputs[self.model_inputs :])


class TensorStep(LossStep):
    """A model and its loss as a function of the tensors among its arguments alone."""

    def __init__(
        self, model: nn.Module, loss: Loss | None, arguments: CallArguments, model_inputs: int
    ) -> None:
        super().__init__(model, loss, model_inputs=model_inputs)
        self.arguments = arguments

    def forward(self, *inputs: Any, **_: Any) -> Tensor:
        """Return the loss for these tensors, in the order of the arguments."""
        return self.plain(*self.arguments.call(inputs))

    def plain(self, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Tensor:
        """Return the loss for arguments of any shapes."""
        return super().forward(*inputs, **keywords)


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

    step: TensorStep
    graph: Graph
    traced: TracedStep
    inputs: tuple[_Layout, ...]
    autocast: AutocastState
    state: _State

    def checked(
        self, inputs: Sequence[Any], keywords: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[Tensor, ...]:
        """Return the tensors of a step that is to run, if it is like the one that was traced.

        Raises
        ------
        InputError
            If the arguments differ in number, names or values, or tensors among them in size,
            layout, type or device, or need gradients.
        ExecutionError
            If modules, training modes, trained parameters, the layouts of parameters and buffers,
            or autocast are not as they were.
        """
        tensors: tuple[Tensor, ...] = self.step.arguments.tensors(inputs, keywords)
        names = self.step.arguments.tensor_names
        for name, item, expected in zip(names, tensors, self.inputs, strict=True):
            found = _Layout.of(_checked_input(item, name))
            if found != expected:
                raise InputError(
                    f"a tensor {found}, and {expected} in the trace",
                    field=name,
                    expected="a graph is made for one shape: drop smaller batches"
                    " (drop_last=True), or call the plain model for them",
                )
        self.state.check(_State.of(self.step))
        if not AutocastState.current(tensors[0].device).casts_like(self.autocast):
            raise ExecutionError(
                "autocast is not as it was when the step was traced; trace and call the step "
                "under the same autocast"
            )
        return tensors


def trace_step_program(
    model: nn.Module,
    sample_input: Any,
    *,
    loss: Loss | None,
    sample_loss_arguments: Sequence[Any] = (),
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
        One batch: the argument of the model, a tuple of its positional arguments, or a mapping of
        its keyword arguments. Tensors may stand in lists, tuples, mappings and what else
        ``torch.utils._pytree`` knows; all else in them holds for every step.
    loss
        A module or function of the output and further arguments; None if the model returns the
        loss itself, or an output that holds it (`own_loss`), as a function of `sample_input` and
        the further arguments.
    sample_loss_arguments
        The further arguments.
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
    positional, keywords = called_with(sample_input)
    everything = (*positional, *sample_loss_arguments)
    arguments = CallArguments.of(everything, keywords)
    inputs = arguments.tensors(everything, keywords)
    for item, named in zip(inputs, arguments.tensor_names, strict=True):
        _checked_input(item, named)
    for leaf, named in zip(arguments.leaves, arguments.names, strict=True):
        _check_constant(leaf, named, named in arguments.tensor_names)
    if not inputs:
        raise InputError(
            "there is no tensor among them",
            field="inputs",
            expected="give a batch, and what the loss takes besides, as tensors",
        )
    # Inputs that are one tensor now need not be one in a later step.
    distinct = tuple(item.detach() for item in inputs)
    device = inputs[0].device
    known = cost or Measured(device, warmup=warmup, repeats=repeats, threads=threads)
    step = TensorStep(model, loss, arguments, len(positional))
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
            inputs[0],
            known,
            model_name=kind,
            model_arguments={},
            samples=int(inputs[0].shape[0]) if inputs[0].dim() else 1,
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


def _check_constant(leaf: Any, name: str, is_tensor: bool) -> None:
    """Check that an argument that is no tensor is one that can be compared from step to step."""
    if not is_tensor and not isinstance(leaf, _CONSTANTS):
        raise InputError(
            f"a {type(leaf).__name__} is not a dense tensor",
            field=name,
            expected="give a batch, and what the loss takes besides, as tensors; a class of one's"
            " own that holds tensors has to be registered as a pytree node",
        )


def _checked_input(item: Any, name: str) -> Tensor:
    if type(item) is not Tensor or item.layout != torch.strided:
        raise InputError(
            f"a {type(item).__name__} is not a dense tensor",
            field=name,
            expected="give a batch, and what the loss takes besides, as tensors",
        )
    if item.device.type not in {"cpu", "cuda"}:
        raise InputError(
            f"the device {item.device}",
            field=name,
            expected="move the model and the input to a CPU or CUDA device",
        )
    if item.is_inference():
        raise InputError(
            "an inference tensor, of which nobody knows whether it has been written to",
            field=name,
            expected="make it outside torch.inference_mode(), or clone() it there",
        )
    if item.requires_grad:
        raise InputError(
            "an input requires a gradient, which no operation of the trace would compute",
            field=name,
            expected="detach() it, or make it a parameter of the model",
        )
    return item
