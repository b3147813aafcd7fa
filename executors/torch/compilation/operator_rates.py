r"""Durations of operators that are the same on every machine, for plans that all ranks share.

A roofline with the rates of the kind of device. A compiler that fuses leaves little of the cost of
an elementwise operator: computed again inside the kernel that reads it, it launches nothing and
writes nothing. What remains is to read those of its inputs that another kernel has written.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, fx

from jettison.instances.profilers.device.rates import A100, DeviceRates
from jettison.instances.profilers.device.timing import Spread
from jettison.instances.profilers.torch_graphs.operation_reader import (
    TracedOperation,
    source_of,
)
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost, Roofline

# An assumption about one core: 50 floating-point operations and 10 bytes per ns, 2 us for a call.
CORE = DeviceRates(label="core", device="a core", flops_per_ns=50, bytes_per_ns=10, launch_ns=2_000)
_ALSO_FUSED = ("aten.where.", "aten.clone.", "prims.convert_element_type.", "aten.full.")


@dataclass(frozen=True, slots=True)
class FusedRoofline:
    """Durations from the rates of a device where elementwise operators are fused.

    Attributes
    ----------
    rates
        The rates.
    source, threads
        As in `OperatorCost`.
    """

    rates: DeviceRates = A100
    source: str = "torch-trace"
    threads: int = 0

    @property
    def assumed_device(self) -> str:
        """Name of the device whose rates are assumed."""
        return self.rates.assumed_device

    @property
    def note(self) -> str:
        """Rates of the roofline, for the provenance."""
        return f"{self.rates.note}; elementwise operators are fused"

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return the roofline as minimum, median and maximum."""
        if not is_fused(operation.node):
            return Roofline(self.rates).spread_ns(operation)
        written = {
            source
            for source in map(source_of, operation.node.all_input_nodes)
            if not is_fused(source[0])
        }
        read = sum(_elements_bytes(node, place) for node, place in written)
        return (-(-read // self.rates.bytes_per_ns),) * 3

    def measured_again(self, operation: TracedOperation) -> Spread:
        """Return the roofline."""
        return self.spread_ns(operation)


def is_fused(node: fx.Node) -> bool:
    """Whether a compiler computes an operator in the kernel that reads it: it is elementwise."""
    tags = getattr(node.target, "tags", ())
    return torch.Tag.pointwise in tags or str(node.target).startswith(_ALSO_FUSED)


def default_cost(device: torch.device, *, fuses: bool) -> OperatorCost:
    """Return the durations that are assumed on a device, where a compiler fuses or does not."""
    rates = A100 if device.type == "cuda" else CORE
    return FusedRoofline(rates) if fuses else Roofline(rates)


def _elements_bytes(node: fx.Node, place: int) -> int:
    value = node.meta["val"]
    if isinstance(value, tuple | list):
        value = value[place]
    return int(value.numel()) * int(value.element_size()) if isinstance(value, Tensor) else 0
