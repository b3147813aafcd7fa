"""PyTorch kernels that stand for one device's share of an operation, given its axes only.

A tensor program does not say how an operation computes, but what it reads, over which axes it runs,
and of which kind it is. So each kind has a kernel:

- a product is an ``einsum`` over the axes; where a dimension has no axis, a batched product of as
  many operations on tensors of the same sizes;
- an elementwise operation is the function of the same name, operands broadcast along the axes that
  they lack; a number that the program does not name, a factor say, is one number;
- a reduction is a sum or a maximum over the axes that the result lacks;
- everything else (gathers, slices, changes of shape) is a copy that reads and writes as many bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from jettison.instances.tensor_programs.shard_cost import LocalWork
from jettison.instances.tensor_programs.tensor_program import UNSPLIT

Kernel = Callable[[], object]

_PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})
_REDUCTIONS = MappingProxyType(
    {"reduce_sum": torch.sum, "reduce_max": torch.amax, "reduce_min": torch.amin}
)
_DTYPES = MappingProxyType({1: torch.bool, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64})
_UNARY: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "abs": torch.abs,
        "ceil": torch.ceil,
        "cos": torch.cos,
        "erf": torch.erf,
        "exp": torch.exp,
        "expm1": torch.expm1,
        "floor": torch.floor,
        "integer_pow": torch.square,
        "is_finite": torch.isfinite,
        "log": torch.log,
        "log1p": torch.log1p,
        "logistic": torch.sigmoid,
        "neg": torch.neg,
        "not": torch.logical_not,
        "rsqrt": torch.rsqrt,
        "sign": torch.sign,
        "sin": torch.sin,
        "sqrt": torch.sqrt,
        "square": torch.square,
        "tanh": torch.tanh,
    }
)
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "add": torch.add,
        "add_any": torch.add,
        "div": torch.div,
        "eq": torch.eq,
        "ge": torch.ge,
        "gt": torch.gt,
        "le": torch.le,
        "lt": torch.lt,
        "max": torch.maximum,
        "min": torch.minimum,
        "mul": torch.mul,
        "ne": torch.ne,
        "pow": torch.pow,
        "sub": torch.sub,
    }
)


def kernel_of(work: LocalWork, device: torch.device) -> Kernel:
    """Return a function without arguments that runs a kernel for the work, on its shapes."""
    primitive = work.operation.primitive
    if primitive in _PRODUCTS and len(work.operand_shapes) == 2:
        kernel = _einsum(work, device) or _batched_product(work, device)
    elif primitive in _REDUCTIONS and len(work.operand_shapes) == 1:
        kernel = _reduction(work, device)
    else:
        kernel = _elementwise(work, device)
    return kernel or _copy(work, device)


def _einsum(work: LocalWork, device: torch.device) -> Kernel | None:
    if _sizes(work) is None:
        return None
    operands = _operands(work, device)
    subscripts = work.operation.subscripts
    return lambda: torch.einsum(subscripts, *operands)


def _batched_product(work: LocalWork, device: torch.device) -> Kernel | None:
    r"""Return :math:`b` products :math:`m \times k` by :math:`k \times n` of these sizes."""
    left, right = map(math.prod, work.operand_shapes)
    result = math.prod(work.shape)
    k = int(work.flops) // (2 * result)
    if k == 0:
        return None
    b = max(1, left * right // (result * k * k))
    m, n = left // (b * k), right // (b * k)
    if not m or not n:
        return None
    dtype = _DTYPES.get(work.element_bytes[0], torch.float32)
    first = torch.ones(b, m, k, dtype=dtype, device=device)
    second = torch.ones(b, k, n, dtype=dtype, device=device)
    return lambda: torch.bmm(first, second)


def _reduction(work: LocalWork, device: torch.device) -> Kernel | None:
    if _sizes(work) is None:
        return None
    axes = work.operation.operand_axes[0]
    gone = [place for place, axis in enumerate(axes) if axis not in work.operation.result_axes]
    if not gone:
        return None
    (operand,) = _operands(work, device)
    reduce = _REDUCTIONS[work.operation.primitive]
    return lambda: reduce(operand, dim=gone)


def _elementwise(work: LocalWork, device: torch.device) -> Kernel | None:
    primitive = work.operation.primitive
    seen = _broadcast(work, device)
    if seen is None:
        return None
    # What the program does not name is a single number.
    one = torch.ones((), device=device)
    if primitive in _UNARY and len(seen) == 1:
        function = _UNARY[primitive]
        return lambda: function(seen[0])
    if primitive in _BINARY and len(seen) in {1, 2}:
        apply = _BINARY[primitive]
        other = seen[1] if len(seen) == 2 else one.to(seen[0].dtype)
        return lambda: apply(seen[0], other)
    if primitive == "select_n" and len(seen) in {1, 2, 3}:
        masks = [tensor for tensor in seen if tensor.dtype == torch.bool]
        others = [tensor for tensor in seen if tensor.dtype != torch.bool]
        mask = masks[0] if masks else torch.ones((), dtype=torch.bool, device=device)
        first = others[0] if others else one
        second = others[1] if len(others) == 2 else one.to(first.dtype)
        return lambda: torch.where(mask, first, second)
    return None


def _broadcast(work: LocalWork, device: torch.device) -> list[Tensor] | None:
    """Return the operands broadcast to the axes of the result; None if an operand has others."""
    result = work.operation.result_axes
    found = []
    for axes, shape, tensor in zip(
        work.operation.operand_axes, work.operand_shapes, _operands(work, device), strict=True
    ):
        if shape == work.shape and axes == result:
            found.append(tensor)
        elif UNSPLIT in axes + result or set(axes) - set(result) or _sizes(work) is None:
            return None
        else:
            there = [axis for axis in result if axis in axes]
            ordered = tensor.permute([axes.index(axis) for axis in there])
            index = tuple(slice(None) if axis in axes else None for axis in result)
            found.append(ordered[index])
    return found


def _copy(work: LocalWork, device: torch.device) -> Kernel:
    # Half of the bytes are read, half are written.
    half = torch.ones(max(1, work.moved_bytes // 2), dtype=torch.uint8, device=device)
    place = torch.empty_like(half)
    return lambda: place.copy_(half)


def _operands(work: LocalWork, device: torch.device) -> list[Tensor]:
    return [
        torch.ones(shape, dtype=_DTYPES.get(size, torch.float32), device=device)
        for shape, size in zip(work.operand_shapes, work.element_bytes, strict=True)
    ]


def _sizes(work: LocalWork) -> dict[str, int] | None:
    """Return the size of every axis; None if a dimension has no axis, or sizes contradict."""
    found: dict[str, int] = {}
    tensors = zip(
        (work.operation.result_axes, *work.operation.operand_axes),
        (work.shape, *work.operand_shapes),
        strict=True,
    )
    for axes, shape in tensors:
        for axis, size in zip(axes, shape, strict=True):
            if axis == UNSPLIT or found.setdefault(axis, size) != size:
                return None
    return found
