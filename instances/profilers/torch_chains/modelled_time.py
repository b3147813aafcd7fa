"""Durations of a stage's operations from a roofline, on fake tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from jettison.instances.profilers.device.rates import DeviceRates
from jettison.instances.profilers.torch_chains.stage import ChainStage
from jettison.instances.profilers.torch_chains.stage_gradients import StageGradients
from jettison.instances.profilers.torch_chains.stage_time import StageTime
from jettison.instances.profilers.torch_graphs.operation_reader import (
    mask_place,
)
from jettison.instances.profilers.torch_graphs.operator_cost import roofline_ns

# They reserve memory, or ask about a tensor, and start no kernel.
_NO_KERNELS = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "device"}
)


def modelled_time(stage: ChainStage, stage_input: Tensor, rates: DeviceRates) -> StageTime:
    """Return the durations of a stage's forward and backward operation, from a roofline.

    Each is the sum over the kernels that PyTorch would start; a view starts none. An operator whose
    gradients can be computed apart starts one kernel for that of its input and one for those of its
    parameters, as in a graph.
    """
    with StageGradients(stage):
        with KernelClock(rates) as forward:
            output = stage.forward(stage_input)
        with KernelClock(rates) as backward:
            if output.requires_grad:
                torch.autograd.backward(output, torch.empty_like(output))
        stage_input.grad = None
    return StageTime((forward.time_ns,) * 3, (backward.time_ns,) * 3)


class KernelClock(TorchDispatchMode):  # type: ignore[misc]
    """Mode of PyTorch that adds up the rooflines of the operators that run inside it.

    Attributes
    ----------
    time_ns
        Sum so far.
    """

    def __init__(self, rates: DeviceRates) -> None:
        super().__init__()
        self._rates = rates
        self.time_ns = 0

    def __torch_dispatch__(
        self,
        function: Any,
        types: Any,
        arguments: tuple[Any, ...] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        given = options or {}
        found = function(*arguments, **given)
        if function.is_view or function.overloadpacket.__name__ in _NO_KERNELS:
            return found
        results = tuple(
            item if isinstance(item, Tensor) else None for item in pytree.tree_leaves(found)
        )
        for its_arguments, places in _kernels(function, arguments):
            made = tuple(
                item if places is None or place in places else None
                for place, item in enumerate(results)
            )
            self.time_ns += roofline_ns(self._rates, function, its_arguments, given, made)
        return found


def _kernels(
    function: Any, arguments: tuple[Any, ...]
) -> list[tuple[tuple[Any, ...], frozenset[int] | None]]:
    """Return the kernels of an operator: arguments of each, and the results that it makes, or all.

    Gradients that can be computed apart, the first of which is that of the input, are.
    """
    place = mask_place(function, arguments)
    if place is None:
        return [(arguments, None)]
    mask = arguments[place]
    asked = frozenset(number for number, wanted in enumerate(mask) if wanted)
    return [
        (
            (
                *arguments[:place],
                [number in part for number in range(len(mask))],
                *arguments[place + 1 :],
            ),
            part,
        )
        for part in (asked & {0}, asked - {0})
        if part
    ]
