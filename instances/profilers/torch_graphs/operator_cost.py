r"""Durations of operations: measured on the device, or from a roofline.

The roofline of an operation of :math:`f` floating-point operations that reads and writes
:math:`b` bytes is :math:`\max(f / F, b / B) + t`, with the device's rates :math:`F, B` and a time
:math:`t` for each launch. Operations are those that PyTorch's flop counter knows, products and
convolutions; all others move bytes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

from jettison.instances.profilers.device.rates import A100, DeviceRates
from jettison.instances.profilers.device.timing import duration_ns
from jettison.instances.profilers.torch_graphs.traced_step import TracedOperation

Spread = tuple[int, int, int]


class OperatorCost(Protocol):
    """Source of the durations of operations."""

    @property
    def source(self) -> str:
        """Name of the source, for the provenance."""

    @property
    def note(self) -> str:
        """Remark on the numbers, for the provenance."""

    @property
    def assumed_device(self) -> str | None:
        """Name of the GPU whose rates are assumed; None if a device is measured."""

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return the minimum, median and maximum of the durations of an operation."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Durations from the rates of a device; by default those of an A100 in single precision."""

    rates: DeviceRates = A100
    source: str = "torch-trace"

    @property
    def assumed_device(self) -> str:
        """Name of the GPU whose rates are assumed."""
        return self.rates.assumed_device

    @property
    def note(self) -> str:
        """Rates of the roofline, for the provenance."""
        return self.rates.note

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return the roofline as minimum, median and maximum."""
        given = (operation.arguments, operation.options)
        return (roofline_ns(self.rates, operation.target, *given, operation.results),) * 3


def roofline_ns(
    rates: DeviceRates,
    target: Any,
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
    results: tuple[Tensor | None, ...],
) -> int:
    """Return the duration of an operator at the rates of a device.

    It reads each tensor that it is called with once, and writes each of its `results` once.
    """
    given = pytree.tree_leaves((arguments, dict(options)))
    moved = [item for item in (*given, *results) if isinstance(item, Tensor)]
    packet = getattr(target, "overloadpacket", None)
    count = flop_registry.get(packet)
    made = results[0] if len(results) == 1 else results
    flops = 0 if count is None else int(count(*arguments, **options, out_val=made))
    return rates.duration_ns(flops, sum(map(_elements_bytes, moved)))


class Measured:
    """Durations measured by running each operation on tensors of its shapes, types and strides.

    Operations that are called alike are measured once. Numbers are random, indices 0, masks true;
    what an operation takes must not depend on them.

    Parameters
    ----------
    device
        Device to run on.
    warmup, repeats
        Runs before, and for, the measurement.
    announce
        Called with the name of each operation before it runs.
    known
        Earlier measurements, to which new ones are added.
    """

    source = "torch-profile"
    note = "each operation was run by itself"
    assumed_device = None

    def __init__(
        self,
        device: torch.device,
        *,
        warmup: int,
        repeats: int,
        announce: Callable[[str], None] = lambda name: None,
        known: MutableMapping[str, Spread] | None = None,
    ) -> None:
        self._device = device
        self._warmup = warmup
        self._repeats = repeats
        self._announce = announce
        self._known: MutableMapping[str, Spread] = {} if known is None else known

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Measure the operation, unless one like it has been measured."""
        key = f"{operation.target} {[_described(item) for item in _leaves(operation)]}"
        if key not in self._known:
            self._announce(operation.name)
            self._known[key] = self._run(operation)
        return self._known[key]

    def _run(self, operation: TracedOperation) -> Spread:
        arguments, options = pytree.tree_map_only(
            torch.Tensor, self._real, (operation.arguments, operation.options)
        )

        def call() -> object:
            return operation.target(*arguments, **options)

        with torch.no_grad():
            found = [duration_ns(call, self._device) for _ in range(self._warmup + self._repeats)]
        counted = found[self._warmup :]
        return min(counted), median_low(counted), max(counted)

    def _real(self, fake: Tensor) -> Tensor:
        # Elements of an expanded tensor overlap: the storage is filled before it gets its shape.
        reach = sum(
            (extent - 1) * stride for extent, stride in zip(fake.shape, fake.stride(), strict=True)
        )
        count = reach + 1 if fake.numel() else 0
        tensor = torch.empty(count, dtype=fake.dtype, device=self._device)
        if tensor.is_floating_point():
            tensor.normal_()
        elif tensor.dtype == torch.bool:
            tensor.fill_(1)
        else:
            tensor.zero_()
        return tensor.as_strided(fake.shape, fake.stride())


def _leaves(operation: TracedOperation) -> list[Any]:
    leaves: list[Any] = pytree.tree_leaves((operation.arguments, operation.options))
    return leaves


def _described(item: Any) -> str:
    if isinstance(item, torch.Tensor):
        return f"{item.dtype} {tuple(item.shape)} {item.stride()}"
    return repr(item)


def _elements_bytes(tensor: Tensor) -> int:
    return int(tensor.numel()) * int(tensor.element_size())
