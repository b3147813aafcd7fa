"""Saving and restoring the state of a model that is run for a measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def left_as_found(modules: Sequence[nn.Module], device: torch.device) -> Iterator[None]:
    """Restore buffers, gradients and random number generators when the block ends.

    Gradients are set aside inside the block, so that nothing accumulates into them. Parameters
    must not be changed inside.
    """
    buffers = [
        (owner, name, buffer, buffer.detach().clone())
        for module in modules
        for owner in module.modules()
        for name, buffer in owner.named_buffers(recurse=False)
    ]
    parameters = [parameter for module in modules for parameter in module.parameters()]
    gradients = [parameter.grad for parameter in parameters]
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            for parameter in parameters:
                parameter.grad = None
            yield
        finally:
            for owner, name, buffer, content in buffers:
                # A module may have replaced its buffer instead of writing into it.
                setattr(owner, name, buffer)
                with torch.no_grad():
                    buffer.copy_(content)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
