"""Ends of groups of rows, spread evenly, for products of groups on made-up contents.

A product of groups (a mixture of experts) reads from a tensor where each group ends. Zeros there
are groups without rows, whose products take no time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

# Kernels for GPUs want groups that begin at multiples of 16 bytes, 16 elements at most.
_ALIGNED = 16
_NAMES = ("_grouped_mm", "_scaled_grouped_mm")


def spread_groups(target: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Write even ends of groups into a call; calls of other operators are left as they are.

    Parameters
    ----------
    target, arguments, options
        The call. The tensor with the ends, if there is one, is overwritten: end k of n, in a
        dimension of size s, is k s / n rounded down (to a multiple of 16 where groups are longer),
        and the last one is s.
    """
    if not isinstance(target, torch._ops.OpOverload) or target._opname not in _NAMES:
        return
    place = [item.name for item in target._schema.arguments].index("offs")
    ends = arguments[place] if place < len(arguments) else options.get("offs")
    if not isinstance(ends, Tensor) or not len(ends):
        return
    rows, columns = arguments[:2]
    # Groups divide the rows of one operand, or the dimension that both share.
    size = columns.size(-1) if rows.dim() == 3 else rows.size(-1 if columns.dim() == 2 else 0)
    count = len(ends)
    unit = _ALIGNED if size >= count * _ALIGNED else 1
    spread = [end * size // count // unit * unit for end in range(1, count)]
    ends.copy_(torch.tensor([*spread, size], dtype=ends.dtype))
