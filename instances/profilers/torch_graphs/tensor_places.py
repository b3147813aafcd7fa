"""Attributes of a module that hold its parameters and buffers, for a call with other tensors."""

from __future__ import annotations

from torch import nn


def first_names(step: nn.Module) -> dict[str, str]:
    """Return, for each attribute that is a parameter or buffer, the first name of its tensor.

    A module that the step holds several times has its places once: a tensor that is put into one
    twice would not be taken out again.
    """
    first: dict[int, str] = {}
    found: dict[str, str] = {}
    for prefix, module in step.named_modules():
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                full = f"{prefix}.{name}" if prefix else name
                found[full] = first.setdefault(id(tensor), full)
    return found
