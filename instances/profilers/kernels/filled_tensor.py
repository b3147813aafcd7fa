"""Tensors with made-up contents, on which single operators run to be measured."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def filled_tensor(
    size: Sequence[int], stride: Sequence[int], dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Return a tensor of this layout: random numbers, indices 0, masks true.

    Elements of an expanded tensor overlap, as they do in what it stands for.
    """
    reach = sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
    # The storage is filled before it gets its shape: elements may overlap.
    count = reach + 1 if all(size) else 0
    tensor = torch.empty(count, dtype=dtype, device=device)
    if dtype == torch.bool:
        tensor.fill_(1)
    elif (dtype.is_floating_point or dtype.is_complex) and dtype.itemsize > 1:
        tensor.normal_()
    else:
        # Nothing draws numbers of a single byte.
        tensor.zero_()
    return tensor.as_strided(tuple(size), tuple(stride))
