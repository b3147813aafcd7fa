"""Export of a training step as one graph of operators, as they run without a compiler.

A front (`step_fronts`) makes a module that can be traced, and ahead-of-time autograd traces it with
its backward pass. The export swaps in decompositions of its own for some composite functions (a
dropout, say, or an interpolation), which would draw other numbers or round otherwise than the model
does. They are switched off while the model runs: the operators are those that PyTorch's own
composite functions call.

Autocast holds for the forward pass only, as PyTorch advises: the backward operations work in the
types of what they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._functorch.aot_autograd import aot_export_module
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.instances.profilers.fronts.grouped_products import grouped_products_of_floats
from jettison.instances.profilers.fronts.step_fronts import FRONTS
from jettison.instances.profilers.fronts.untraceable import untraceable
from jettison.instances.profilers.torch_chains.fake_model import with_fakes
from jettison.instances.profilers.torch_graphs.drawing_order import draw_in_memory_order
from jettison.instances.profilers.torch_graphs.tensor_places import first_names

# The module that is traced holds the step, or what a front has made of it, under this name.
_PREFIX = "step."
# Gradient function of torch.utils.checkpoint with use_reentrant=True.
_REENTRANT = "CheckpointFunctionBackward"
# Numbers that are not known before the step runs.
_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_ONE_GRADIENT = "len(gradients_to_parameters)="
# What PyTorch raises where a trace cannot go on.
_ENDS = (
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class ExportedStep:
    """Joint graph of a step, with the nodes of its arguments and results.

    Names are those that parameters and buffers have in the step, the first ones where there are
    several. Results stand by their places: one node may be the gradient of two parameters.

    Attributes
    ----------
    module
        The trace; its attributes are constants.
    front
        Name of the front that it was made with.
    parameters, buffers
        Name by placeholder.
    inputs, changed_inputs
        Placeholders of the inputs, and those that the step writes to.
    loss
        The loss.
    gradients
        The gradient of each trained parameter that the loss depends on, by its name.
    new_buffers
        The new value of each buffer that the step writes to, by its name.
    """

    module: fx.GraphModule
    front: str
    parameters: Mapping[str, str]
    buffers: Mapping[str, str]
    inputs: tuple[str, ...]
    changed_inputs: tuple[str, ...]
    loss: fx.Node
    gradients: Mapping[str, fx.Node]
    new_buffers: Mapping[str, fx.Node]


def export_step(step: nn.Module, inputs: tuple[Tensor, ...]) -> ExportedStep:
    """Return the joint graph of a step that maps the inputs to a scalar.

    Autocast is as it is set around the call.

    Raises
    ------
    InputError
        If the step cannot be traced: control flow depends on values, no parameter is trained, or
        the loss is no scalar.
    """
    first: Exception | None = None
    for front in FRONTS:
        try:
            with grouped_products_of_floats():
                return _joint(front.__name__, front(step, inputs), step, inputs)
        except InputError:
            raise
        except _ENDS as error:
            if "SparseTensorImpl" in str(error):
                # With the logs of its traces on, PyTorch looks into the storage of every gradient.
                raise _sparse_gradient("of a parameter") from error
            # What the plain step stumbled over says most.
            first = first or error
            first.add_note(f"{front.__name__}: {type(error).__name__}: {error}")
    assert first is not None
    raise untraceable(first) from first


def _joint(
    front: str, traced: nn.Module, step: nn.Module, inputs: tuple[Tensor, ...]
) -> ExportedStep:
    autocast = AutocastState.current(inputs[0].device)
    # The export refuses trained parameters that the loss does not depend on.
    with (
        _not_trained(_unused(traced, inputs)),
        torch.enable_grad(),
        autocast.switched_off().restored(),
    ):
        trained = [name for name, item in traced.named_parameters() if item.requires_grad]
        module, signature = _exported(_ExportedStep(traced, autocast), inputs)
    results = next(node for node in module.graph.nodes if node.op == "output").args[0]
    changed_buffers = tuple(signature.buffers_to_mutate.values())
    changed_inputs = tuple(signature.user_inputs_to_mutate.values())
    # New values come first, then the loss. The signature goes by names of nodes, and leaves out
    # all but the last of the results that are one node.
    place = len(results) - len(trained) - 1
    if place != len(changed_buffers) + len(changed_inputs):
        raise InputError(
            "the step writes one value to several buffers or inputs",
            field="model",
            expected="give each of them a value of its own: buffer.copy_(value.clone())",
        )
    _check_nodes(module.graph)
    draw_in_memory_order(module.graph)
    names = _names_in(step, traced)
    return ExportedStep(
        module=module,
        front=front,
        parameters={at: names(name) for at, name in signature.inputs_to_parameters.items()},
        buffers={at: names(name) for at, name in signature.inputs_to_buffers.items()},
        inputs=tuple(signature.user_inputs),
        changed_inputs=changed_inputs,
        loss=results[place],
        gradients={
            names(name): node for name, node in zip(trained, results[place + 1 :], strict=True)
        },
        new_buffers={
            names(name): node for name, node in zip(changed_buffers, results, strict=False)
        },
    )


def _exported(step: _ExportedStep, inputs: tuple[Tensor, ...]) -> tuple[fx.GraphModule, Any]:
    try:
        with _on_fakes(step, inputs) as given:
            return _aot(step, given)
    except AssertionError as error:
        # The fake kernel of a recurrent layer returns the gradient of both biases as one tensor,
        # which PyTorch's signature has no place for; the real one returns two.
        if _ONE_GRADIENT not in str(error):
            raise
    return _aot(step, inputs)


def _aot(step: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[fx.GraphModule, Any]:
    found: tuple[fx.GraphModule, Any] = aot_export_module(
        step, inputs, trace_joint=True, output_loss_index=0
    )
    return found


@contextmanager
def _on_fakes(traced: nn.Module, inputs: tuple[Tensor, ...]) -> Iterator[tuple[Tensor, ...]]:
    """Put fake tensors into a module, and give fake inputs, unless there are some already.

    The export records a step twice, and the second time on the tensors that it is given: kernels
    would run, some of which end the program instead of raising an error.
    """
    tensors = (*inputs, *traced.parameters(), *traced.buffers())
    if any(isinstance(item, FakeTensor) for item in tensors):
        yield inputs
        return
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with with_fakes([traced], mode):
        yield tuple(mode.from_tensor(item) for item in inputs)


def _names_in(step: nn.Module, traced: nn.Module) -> Callable[[str], str]:
    """Return the function from a name in the traced module to the first name in the step."""
    if traced is step:
        return lambda name: name.removeprefix(_PREFIX)
    known: dict[int, str] = {}
    for name, item in (*step.named_parameters(), *step.named_buffers()):
        known.setdefault(id(item), name)

    def name_of(name: str) -> str:
        inner = name.removeprefix(_PREFIX)
        found = known.get(id(_tensor_at(traced, inner)))
        if found is None:
            raise InputError(
                f"the step reads {inner}, a tensor of the model that is not a parameter or buffer",
                field="model",
                expected="register it: self.register_buffer(name, tensor)",
            )
        return found

    return name_of


def _check_nodes(graph: fx.Graph) -> None:
    """Check that every value in a trace is a tensor that an operation can compute again."""
    for node in graph.nodes:
        if node.op == "get_attr" and "val" not in node.meta:
            raise InputError(
                f"the step draws from a generator of its own ({node.target})",
                field="model",
                expected="draw from the global generator of the device",
            )
        value = node.meta.get("val")
        if node.op == "call_function" and isinstance(value, _NUMBERS):
            raise InputError(
                f"the step reads the value of a tensor ({node.target})",
                field="model",
                expected="keep it a tensor, or compute it outside of the step",
            )
    results = next(node for node in graph.nodes if node.op == "output").args[0]
    for node in results:
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            raise _sparse_gradient(node.name)


def _sparse_gradient(name: str) -> InputError:
    return InputError(
        f"the gradient {name} is not a dense tensor",
        field="model",
        expected="give dense gradients (sparse=False)",
    )


def _unused(step: nn.Module, inputs: tuple[Tensor, ...]) -> list[nn.Parameter]:
    """Return the trained parameters that the loss does not depend on."""
    trained = {
        name: parameter for name, parameter in step.named_parameters() if parameter.requires_grad
    }
    mode = FakeTensorMode()
    with mode, torch.enable_grad():
        fakes = {
            name: mode.from_tensor(tensor)
            for name, tensor in (*step.named_parameters(), *step.named_buffers())
        }
        places = {name: fakes[first] for name, first in first_names(step).items()}
        given = tuple(mode.from_tensor(tensor) for tensor in inputs)
        loss = torch.func.functional_call(step, places, given, tie_weights=False)
        _check_is_not_reentrant(loss)
        found = torch.autograd.grad(loss, [fakes[name] for name in trained], allow_unused=True)
    return [
        parameter
        for parameter, gradient in zip(trained.values(), found, strict=True)
        if gradient is None
    ]


def _check_is_not_reentrant(loss: Tensor) -> None:
    """Check that no part of the step hides a backward pass of its own from the trace."""
    seen, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() == _REENTRANT:
            raise InputError(
                "parts of it are checkpointed already, by reentrant backward passes, which no "
                "trace sees",
                field="model",
                expected="leave torch.utils.checkpoint out: the schedule computes again what is "
                "worth it; or give use_reentrant=False",
            )
        waiting += [before for before, _ in node.next_functions]


@contextmanager
def _not_trained(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    for parameter in parameters:
        parameter.requires_grad_(requires_grad=False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_()


class _ExportedStep(nn.Module):
    """Training step whose loss is the only entry of a tuple, as the export needs it."""

    def __init__(self, step: nn.Module, autocast: AutocastState) -> None:
        super().__init__()
        self.step = step
        self._autocast = autocast
        self._first_name_of = first_names(step)

    def named_parameters(self, *_: Any, **__: Any) -> Any:
        """Return each parameter once: its gradient is the sum over its names."""
        return super().named_parameters()

    def named_buffers(self, *_: Any, **__: Any) -> Any:
        """Return each buffer once."""
        return super().named_buffers()

    def forward(self, *inputs: Tensor) -> tuple[Tensor]:
        """Return the loss in a tuple."""
        # The export puts fake tensors under first names; the other names follow here.
        tied = {
            name: _tensor_at(self.step, first)
            for name, first in self._first_name_of.items()
            if name != first
        }
        functional = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FUNCTIONAL)
        if functional is not None:
            # An export takes composite functions apart even where the device has a kernel for them.
            functional.export = False
        buffers = dict(self.step.named_buffers())
        with torch._C._DisablePythonDispatcher(), self._autocast.restored():
            loss = torch.func.functional_call(self.step, tied, inputs, tie_weights=False)
        with torch.no_grad():
            for name, buffer in buffers.items():
                new = _tensor_at(self.step, name)
                if new is not buffer:
                    # A tensor in place of the old one is a write as well, which has to be recorded.
                    buffer.copy_(new)
        return (loss,)


def _tensor_at(step: nn.Module, name: str) -> Tensor:
    path, _, last = name.rpartition(".")
    tensor: Tensor = getattr(step.get_submodule(path), last)
    return tensor
