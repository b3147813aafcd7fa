"""Export of a training step as one graph of operators, as they run without a compiler.

The export swaps in decompositions of its own for some composite functions (a dropout, say, or an
interpolation), which would draw other numbers or round otherwise than the model does. They are
switched off while the model runs: the operators are those that PyTorch's own composite functions
call.

Autocast holds for the forward pass only, as PyTorch advises: the backward operations work in the
types of what they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._functorch.aot_autograd import aot_export_module
from torch._subclasses.fake_tensor import FakeTensorMode

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.instances.profilers.torch_graphs.drawing_order import draw_in_memory_order
from jettison.instances.profilers.torch_graphs.tensor_places import first_names


def export_step(step: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[fx.GraphModule, Any]:
    """Return the joint graph of a step that maps the inputs to a scalar, and its signature.

    Autocast is as it is set around the call. Names in the signature begin with ``step.``; a tensor
    that the step has under several names stands under the first.

    Raises
    ------
    InputError
        If the step cannot be traced: control flow depends on values, no parameter is trained, or
        the loss is no scalar.
    """
    autocast = AutocastState.current(inputs[0].device)
    try:
        # The export refuses trained parameters that the loss does not depend on.
        with (
            _not_trained(_unused(step, inputs)),
            torch.enable_grad(),
            autocast.switched_off().restored(),
        ):
            exported: tuple[fx.GraphModule, Any] = aot_export_module(
                _ExportedStep(step, autocast), inputs, trace_joint=True, output_loss_index=0
            )
    except (
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        if "SparseTensorImpl" in str(error):
            # With the logs of its traces on, PyTorch looks into the storage of every gradient.
            raise _sparse_gradient("of a parameter") from error
        raise InputError(
            f"the step cannot be traced: {(str(error) or type(error).__name__).splitlines()[0]}",
            field="model",
            expected="give a scalar loss, trained parameters, no control flow on values, and no"
            " tensors that are neither parameters, buffers nor inputs",
        ) from error
    _check_nodes(exported[0].graph)
    draw_in_memory_order(exported[0].graph)
    return exported


def _check_nodes(graph: fx.Graph) -> None:
    """Check that every value in a trace is a tensor that an operation can compute again."""
    for node in graph.nodes:
        if node.op == "get_attr" and "val" not in node.meta:
            raise InputError(
                f"the step draws from a generator of its own ({node.target})",
                field="model",
                expected="draw from the global generator of the device",
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
        found = torch.autograd.grad(loss, [fakes[name] for name in trained], allow_unused=True)
    return [
        parameter
        for parameter, gradient in zip(trained.values(), found, strict=True)
        if gradient is None
    ]


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
