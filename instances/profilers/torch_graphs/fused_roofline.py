r"""Rooflines that count attention on every device, with pointwise work as it is or for nothing.

PyTorch's flop counter does not know the attention kernels that a CPU runs; here they count as those
of GPUs do. Where pointwise operators are fused into the products and reductions that they stand
beside, computing them again costs next to nothing: `FusedRoofline` has them, and copies, for free.
Products, convolutions, reductions and normalisations keep their roofline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import (
    flop_registry,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

from jettison.instances.profilers.device.rates import DeviceRates
from jettison.instances.profilers.device.timing import Spread
from jettison.instances.profilers.torch_graphs.operation_reader import (
    TracedOperation,
)
from jettison.instances.profilers.torch_graphs.operator_cost import Roofline

# The tensor cores of an A100 reach 156 TFLOP/s on products of single precision (TF32) by its data
# sheet, of which 100 are assumed to be reached; bytes and launches are those of `rates.A100`.
A100_TF32 = DeviceRates(
    label="tf32",
    device="A100 40 GB, products in TF32",
    flops_per_ns=100_000,
    bytes_per_ns=1_555,
    launch_ns=3_000,
)

_ATEN = torch.ops.aten
_COPIES = frozenset(
    {
        _ATEN.clone.default,
        _ATEN._to_copy.default,
        _ATEN.copy.default,
        _ATEN.full.default,
        _ATEN.full_like.default,
        _ATEN.ones_like.default,
        _ATEN.zeros_like.default,
        _ATEN.zeros.default,
        _ATEN.arange.default,
        _ATEN.arange.start_step,
    }
)


def _forward_flops(arguments: tuple[Any, ...]) -> int:
    query, key, value = (tensor.shape for tensor in arguments[:3])
    return int(sdpa_flop_count(query, key, value))


def _backward_flops(arguments: tuple[Any, ...]) -> int:
    gradient, query, key, value = (tensor.shape for tensor in arguments[:4])
    return int(sdpa_backward_flop_count(gradient, query, key, value))


_ATTENTION_FLOPS: Mapping[Any, Callable[[tuple[Any, ...]], int]] = MappingProxyType(
    {
        _ATEN._scaled_dot_product_flash_attention_for_cpu.default: _forward_flops,
        _ATEN._scaled_dot_product_flash_attention_for_cpu_backward.default: _backward_flops,
    }
)


def is_pointwise(target: Any) -> bool:
    """Tell whether a compiler fuses an operator: it is pointwise, a copy or a fill."""
    return torch.Tag.pointwise in getattr(target, "tags", ()) or target in _COPIES


def operation_flops(operation: TracedOperation) -> int:
    """Return the floating-point operations of an operation, as PyTorch's flop counter has them.

    Those of attention on a CPU are counted as on a GPU; what the counter does not know has none.
    """
    count = _ATTENTION_FLOPS.get(operation.target)
    if count is not None:
        return count(operation.arguments)
    known = flop_registry.get(getattr(operation.target, "overloadpacket", None))
    if known is None:
        return 0
    results = operation.results
    made = results[0] if len(results) == 1 else results
    return int(known(*operation.arguments, **operation.options, out_val=made))


@dataclass(frozen=True, slots=True)
class UnfusedRoofline(Roofline):
    """Durations of operators that run one by one, at the rates of a device."""

    rates: DeviceRates = A100_TF32

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return the roofline as minimum, median and maximum."""
        leaves = pytree.tree_leaves(
            (operation.arguments, dict(operation.options), operation.results)
        )
        moved = (leaf.numel() * leaf.element_size() for leaf in leaves if isinstance(leaf, Tensor))
        duration_ns = self.rates.duration_ns(operation_flops(operation), sum(map(int, moved)))
        return (duration_ns,) * 3


@dataclass(frozen=True, slots=True)
class FusedRoofline(UnfusedRoofline):
    """The same with pointwise operators for nothing, as where a compiler fuses them."""

    @property
    def note(self) -> str:
        """Rates of the roofline, for the provenance."""
        return f"{self.rates.note}; pointwise operators and copies take no time, as when fused"

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return the roofline as minimum, median and maximum, 0 for pointwise operators."""
        if is_pointwise(operation.target):
            return (0, 0, 0)
        return UnfusedRoofline.spread_ns(self, operation)
