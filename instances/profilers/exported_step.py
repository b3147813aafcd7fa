"""Export a training step as one graph of operators, as they run without a compiler.

The export swaps in decompositions of its own for some composite functions (a dropout, say, or an
interpolation), which would draw other numbers or round otherwise than the model does. They are
switched off while the model runs: the operators are those that PyTorch's own composite functions
call.

Autocast holds for the forward pass only, as PyTorch advises: the backward operations work in the
types of what they read.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._functorch.aot_autograd import aot_export_module

from jettison.instances.errors import InputError
from jettison.instances.profilers.autocast_state import AutocastState


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
        with torch.enable_grad(), autocast.switched_off().restored():
            exported: tuple[fx.GraphModule, Any] = aot_export_module(
                _ExportedStep(step, autocast), inputs, trace_joint=True, output_loss_index=0
            )
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        raise InputError(
            f"the step cannot be traced: {(str(error) or type(error).__name__).splitlines()[0]}",
            field="model",
            expected="give a scalar loss, trained parameters, no control flow on values, and no"
            " tensors that are neither parameters, buffers nor inputs",
        ) from error
    return exported


class _ExportedStep(nn.Module):
    """The loss of a step as the only entry of a tuple, as an export of the step wants it."""

    def __init__(self, step: nn.Module, autocast: AutocastState) -> None:
        super().__init__()
        self.step = step
        self._autocast = autocast
        self._first_name_of = _aliases(step)

    def named_parameters(self, *_: Any, **__: Any) -> Any:
        """Return each parameter once: its gradient is the sum over its names."""
        return super().named_parameters()

    def named_buffers(self, *_: Any, **__: Any) -> Any:
        """Return each buffer once."""
        return super().named_buffers()

    def forward(self, *inputs: Tensor) -> tuple[Tensor]:
        """Return the loss in a tuple."""
        # The export puts fake tensors under first names; the other names follow here.
        tied = {alias: _tensor_at(self.step, first) for alias, first in self._first_name_of.items()}
        with torch._C._DisablePythonDispatcher(), self._autocast.restored():
            return (torch.func.functional_call(self.step, tied, inputs, tie_weights=False),)


def _aliases(step: nn.Module) -> dict[str, str]:
    first: dict[int, str] = {}
    aliases = {}
    for tensors in (
        step.named_parameters(remove_duplicate=False),
        step.named_buffers(remove_duplicate=False),
    ):
        for name, tensor in tensors:
            if first.setdefault(id(tensor), name) != name:
                aliases[name] = first[id(tensor)]
    return aliases


def _tensor_at(step: nn.Module, name: str) -> Tensor:
    path, _, last = name.rpartition(".")
    tensor: Tensor = getattr(step.get_submodule(path), last)
    return tensor
