"""Model with fake tensors in place of its parameters and buffers, for as long as a block runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


@contextmanager
def with_fakes(modules: Sequence[nn.Module], mode: FakeTensorMode) -> Iterator[None]:
    """Put fake tensors into modules; the tensors that were there come back when the block ends.

    Whatever shares a tensor before shares its fake. What runs inside changes nothing outside.
    """
    owners = {id(owner): owner for module in modules for owner in module.modules()}.values()
    places = [
        (tensors, dict(tensors))
        for owner in owners
        for tensors in (owner._parameters, owner._buffers)
    ]
    try:
        for tensors, found in places:
            for name, tensor in found.items():
                if tensor is not None:
                    tensors[name] = mode.from_tensor(tensor)
        yield
    finally:
        for tensors, found in places:
            tensors.update(found)
