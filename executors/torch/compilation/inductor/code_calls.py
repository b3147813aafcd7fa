"""Calls of libraries in the code that Inductor generates, and what they allocate.

The code calls products, convolutions and attention by name, on buffers whose sizes and strides are
known: each call is described as plain data, and runs once on made-up numbers in a process of its
own. It takes its results and what the kernel frees again before it returns; a call that writes to a
buffer (``out=``) takes only the latter.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.kernels.call_memory import CallMemory
from jettison.instances.profilers.kernels.kernel_call import KernelCall
from jettison.instances.profilers.kernels.kernel_process import (
    KernelProcessError,
    shared_process,
)

_EXTERN, _OPERATORS = "extern_kernels.", "torch.ops."


@dataclass(frozen=True, slots=True)
class BufferLayout:
    """Layout of a buffer or an input of generated code."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def tensor(self) -> Tensor:
        """Return a tensor of this layout; under `FakeTensorMode` it has no contents."""
        return torch.empty_strided(self.size, self.stride, dtype=self.dtype, device=self.device)


def library_call(value: ast.expr, layouts: Mapping[str, BufferLayout]) -> KernelCall | None:
    """Return the description of the call of a library that an expression is.

    Returns
    -------
    KernelCall | None
        None if it is none, or its operator or one of its arguments is not known.
    """
    if not isinstance(value, ast.Call):
        return None
    target = _operator(ast.unparse(value.func), [item.arg for item in value.keywords])
    if target is None:
        return None
    try:
        with FakeTensorMode():
            arguments = [_value(item, layouts) for item in value.args]
            options = {str(item.arg): _value(item.value, layouts) for item in value.keywords}
            return KernelCall.of(target, arguments, options)
    except _NotKnownError:
        return None


def rises_bytes(calls: Sequence[KernelCall], device: torch.device) -> dict[KernelCall, int]:
    """Return by how much the memory in use rises while each call runs.

    Calls that fail on made-up numbers are left out.

    Raises
    ------
    InputError
        If no process can be started.
    """
    distinct = list(dict.fromkeys(calls))
    if device.type not in {"cpu", "cuda"} or not distinct:
        return {}
    process = shared_process()
    try:
        outcomes = process.memory(distinct, device)
    except KernelProcessError as error:
        raise InputError(
            f"no process can be started in which kernels run safely: {error}",
            field="memory",
            expected="run a Python that can start another",
        ) from error
    if device.type == "cuda":
        # Its context takes memory of the GPU, which the step may need.
        process.close()
    pairs = zip(distinct, outcomes, strict=True)
    return {call: outcome.rise_bytes for call, outcome in pairs if isinstance(outcome, CallMemory)}


class _NotKnownError(Exception):
    """Error of an expression that is no plain value and no buffer."""


def _operator(name: str, keywords: Sequence[str | None]) -> Any | None:
    """Return the operator that the code calls by a name."""
    if name.startswith(_EXTERN):
        overload = "out" if "out" in keywords else "default"
        parts = ["aten", name.removeprefix(_EXTERN), overload]
    elif name.startswith(_OPERATORS):
        parts = name.removeprefix(_OPERATORS).split(".")
    else:
        return None
    found: Any = torch.ops
    for part in parts:
        found = getattr(found, part, None)
        if found is None:
            return None
    return found if isinstance(found, torch._ops.OpOverload) else None


def _value(item: ast.expr, layouts: Mapping[str, BufferLayout]) -> Any:
    """Return what an argument is, with a tensor for each buffer."""
    if isinstance(item, ast.Name) and item.id in layouts:
        return layouts[item.id].tensor()
    if isinstance(item, ast.Constant):
        return item.value
    if isinstance(item, ast.List | ast.Tuple):
        return [_value(part, layouts) for part in item.elts]
    if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub):
        return -_value(item.operand, layouts)
    if isinstance(item, ast.Attribute):
        named = getattr(torch, item.attr, None)
        if ast.unparse(item.value) == "torch" and isinstance(named, torch.dtype | torch.layout):
            return named
    if isinstance(item, ast.Call):
        function = ast.unparse(item.func)
        if function == "reinterpret_tensor":
            base, size, stride, _ = (_value(part, layouts) for part in item.args)
            return base.new_empty_strided(size, stride)
        if function == "float":
            return float(*(_value(part, layouts) for part in item.args))
    raise _NotKnownError(ast.unparse(item))
