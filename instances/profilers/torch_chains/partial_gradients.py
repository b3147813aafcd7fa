"""Kernels of a stage that compute some of their gradients only, tried elsewhere before they run.

In PyTorch 2.13 `native_group_norm_backward` ends the program on images in channels-last layout if
the gradient of its input is not asked for. The plain step of a model that begins with such a norm
ends in the same way. Calls of this kind, some gradients of several and a layout that is not
row-major, occur in the first stages of a model, whose input needs no gradient, and where a part of
a stage is not trained. They run once in the process for kernels (`kernel_process`), and one that
crashes there is an error here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.kernels.call_memory import CallFailure, FailureKind
from jettison.instances.profilers.kernels.kernel_call import KernelCall
from jettison.instances.profilers.kernels.kernel_process import (
    KernelProcessError,
    shared_process,
)
from jettison.instances.profilers.torch_chains.stage import ChainStage
from jettison.instances.profilers.torch_chains.stage_gradients import StageGradients
from jettison.instances.profilers.torch_graphs.operation_reader import mask_place


def expect_no_crash(stage: ChainStage, stage_input: Tensor) -> None:
    """Run a stage that needs some gradients only forward and backward, and refuse what crashes.

    Raises
    ------
    InputError
        If a kernel of its backward operation ends the process in which it is tried, or there is no
        such process.
    """
    if stage_input.requires_grad and all(item.requires_grad for item in stage.parameters):
        return
    with StageGradients(stage):
        output = stage.forward(stage_input)
        if output.requires_grad:
            gradient = torch.randn_like(output)
            with _TriedElsewhere(stage.name):
                torch.autograd.backward(output, gradient)
        stage_input.grad = None


class _TriedElsewhere(TorchDispatchMode):  # type: ignore[misc]
    """Dispatch mode that has calls for some gradients of several run in another process first."""

    def __init__(self, stage: str) -> None:
        super().__init__()
        self._stage = stage

    def __torch_dispatch__(
        self,
        function: Any,
        types: Any,
        arguments: tuple[Any, ...] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        given = options or {}
        if _is_partial(function, arguments):
            self._try(function, arguments, given)
        return function(*arguments, **given)

    def _try(self, function: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        call = KernelCall.of(function, arguments, options)
        if call is None:
            return
        device = next(item.device for item in arguments if isinstance(item, Tensor))
        try:
            (outcome,) = shared_process().memory([call], device)
        except KernelProcessError as error:
            raise InputError(
                f"{error}",
                field=self._stage,
                expected="let Python start its own interpreter, in which kernels are tried",
            ) from error
        if isinstance(outcome, CallFailure) and outcome.kind is FailureKind.CRASH:
            raise InputError(
                f"the kernel of {function} crashes on {call.layouts}: {outcome.message}",
                field=self._stage,
                expected="give the input in row-major layout, or let it ask for a gradient "
                "(requires_grad_()): the plain step would end this program as well",
            )


def _is_partial(function: Any, arguments: tuple[Any, ...]) -> bool:
    place = mask_place(function, arguments)
    if place is None or all(arguments[place]):
        return False
    tensors = [item for item in pytree.tree_leaves(arguments) if isinstance(item, Tensor)]
    return not all(item.is_contiguous() for item in tensors)
