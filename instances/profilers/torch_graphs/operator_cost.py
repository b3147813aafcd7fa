r"""Durations of operations: measured on the device, or from a roofline.

The roofline of an operation of :math:`f` floating-point operations that reads and writes
:math:`b` bytes is :math:`\max(f / F, b / B) + t`, with the device's rates :math:`F, B` and a time
:math:`t` for each launch. Operations are those that PyTorch's flop counter knows, products and
convolutions; all others move bytes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

from jettison.instances.profilers.device.rates import A100, DeviceRates
from jettison.instances.profilers.device.threads import threads_set
from jettison.instances.profilers.device.timing import MOST_LAUNCHES, LaunchTimer, Spread, counted
from jettison.instances.profilers.kernels.kernel_call import PreparedCall
from jettison.instances.profilers.torch_graphs.operation_reader import (
    TracedOperation,
)

# Small operations take their arguments from so many bytes, in at most so many copies, and their
# results are held up to so many: more than the caches that belong to one core.
_OUT_OF_CACHE = 8 * 2**20
_MOST_COPIES = 15
_HELD = 16 * 2**20


class CostSource(Protocol):
    """Source of durations, as a provenance names it."""

    @property
    def source(self) -> str:
        """Name of the source, for the provenance."""

    @property
    def note(self) -> str:
        """Remark on the numbers, for the provenance."""

    @property
    def assumed_device(self) -> str | None:
        """Name of the GPU whose rates are assumed; None if a device is measured."""


class OperatorCost(CostSource, Protocol):
    """Source of the durations of operations."""

    @property
    def threads(self) -> int:
        """Threads that operations are measured with; 0 if nothing is measured."""

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return the least, the counted and the longest duration of an operation."""

    def measured_again(self, operation: TracedOperation) -> Spread:
        """Return what a measurement finds now; the same if nothing is measured."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Durations from the rates of a device; by default those of an A100 in single precision."""

    rates: DeviceRates = A100
    source: str = "torch-trace"
    threads: int = 0

    @property
    def assumed_device(self) -> str:
        """Name of the GPU whose rates are assumed."""
        return self.rates.assumed_device

    @property
    def note(self) -> str:
        """Rates of the roofline, for the provenance."""
        return self.rates.note

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return the roofline as the least, the counted and the longest duration."""
        given = (operation.arguments, operation.options)
        return (roofline_ns(self.rates, operation.target, *given, operation.results),) * 3

    def measured_again(self, operation: TracedOperation) -> Spread:
        """Return the roofline."""
        return self.spread_ns(operation)


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
    what an operation takes must not depend on them. `LaunchTimer` says which of the durations
    counts. An operation runs in this process: what may crash it has to have run elsewhere before
    (`MeasuredMemory`).

    Parameters
    ----------
    device
        Device to run on.
    warmup, repeats
        Runs before, and for, the measurement.
    threads
        Threads that operations on a CPU run with; as many as before are set afterwards.
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
        threads: int = 1,
        announce: Callable[[str], None] = lambda name: None,
        known: MutableMapping[str, Spread] | None = None,
    ) -> None:
        self._device = device
        self._warmup = warmup
        self._repeats = repeats
        self.threads = threads
        self._announce = announce
        self._known: MutableMapping[str, Spread] = {} if known is None else known
        self._timer = LaunchTimer(device)

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Measure the operation, unless one like it has been measured."""
        key = f"{operation.target} {[_described(item) for item in _leaves(operation)]}"
        if key not in self._known:
            self._announce(operation.name)
            self._known[key] = self._run(operation)
        return self._known[key]

    def measured_again(self, operation: TracedOperation) -> Spread:
        """Measure the operation, whatever is known of it."""
        self._announce(operation.name)
        return self._run(operation)

    def _run(self, operation: TracedOperation) -> Spread:
        given = (operation.target, operation.arguments, operation.options)
        with torch.no_grad(), threads_set(self.threads):
            call = PreparedCall.filled(*given, self._device)
            taken_bytes = sum(int(item.untyped_storage().nbytes()) for item in call.tensors)
            made_bytes = operation.output_bytes + operation.unread_bytes
            copies = min(_MOST_COPIES, _OUT_OF_CACHE // max(1, taken_bytes))
            turns = [call, *(call.copied() for _ in range(copies))]
            found = self._timer.durations_ns(
                [item.run for item in turns],
                warmup=self._warmup,
                repeats=self._repeats,
                held=max(1, min(MOST_LAUNCHES, _HELD // max(1, made_bytes))),
            )
        return counted(found)


def _leaves(operation: TracedOperation) -> list[Any]:
    leaves: list[Any] = pytree.tree_leaves((operation.arguments, operation.options))
    return leaves


def _described(item: Any) -> str:
    if isinstance(item, torch.Tensor):
        return f"{item.dtype} {tuple(item.shape)} {item.stride()}"
    return repr(item)


def _elements_bytes(tensor: Tensor) -> int:
    return int(tensor.numel()) * int(tensor.element_size())
