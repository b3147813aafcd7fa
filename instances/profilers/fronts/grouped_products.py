"""Products of groups of rows (mixtures of experts) under fake tensors, in single precision.

PyTorch's kernel of ``_grouped_mm`` for the CPU takes float32; its rule for fake tensors, written
for the kernels of GPUs, refuses it, so that no trace gets past one. The rule here holds for the
shapes and types that the kernel takes: rows of the result begin at multiples of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensorMode

_ROW_BYTES = 16


@contextmanager
def grouped_products_of_floats() -> Iterator[None]:
    """Give fake tensors in the block the rule for products of groups in single precision."""
    grouped = getattr(torch.ops.aten, "_grouped_mm", None)
    rules: dict[Any, Any] = fake_impls.op_implementations_dict
    # A PyTorch that has a rule of its own, or no such operator, is left alone.
    if grouped is None or grouped.default in rules:
        yield
        return
    rules[grouped.default] = _grouped_product
    try:
        yield
    finally:
        rules.pop(grouped.default, None)


def _grouped_product(
    mode: FakeTensorMode,
    target: Any,
    rows: Tensor,
    columns: Tensor,
    offsets: Tensor | None = None,
    *others: Any,
    **options: Any,
) -> Any:
    """Return the fake result, or leave types for which PyTorch has a rule to that."""
    if rows.dtype is not torch.float32 or columns.dtype is not torch.float32:
        return NotImplemented
    groups: tuple[int, ...] = ()
    if rows.dim() == columns.dim():
        # Groups of the dimension that is summed over make a product each, as stacks do.
        groups = (len(rows),) if rows.dim() == 3 or offsets is None else (len(offsets),)
    size = (*groups, rows.size(-2), columns.size(-1))
    floats = _ROW_BYTES // rows.element_size()
    row = -(-size[-1] // floats) * floats
    stride = (row, 1) if len(size) == 2 else (size[-2] * row, row, 1)
    return rows.new_empty_strided(size, stride)
