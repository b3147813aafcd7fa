"""The distinct storages behind tensors, and those that autograd keeps for the backward pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def storage_bytes(tensors: Iterable[Tensor]) -> dict[int, int]:
    """Return the size in bytes of every distinct storage, by its address.

    Views of one another share a storage and count once. The tensors must be alive at the same
    time, or an address could occur twice.
    """
    storages = (tensor.untyped_storage() for tensor in tensors)
    return {storage_address(storage): int(storage.nbytes()) for storage in storages}


def storage_address(storage: torch.UntypedStorage) -> int:
    """Return the address of a storage; of a fake one, which has no contents, that of its record."""
    return int(storage._cdata if storage.device.type == "meta" else storage.data_ptr())


class _Saved:
    """One tensor as autograd saved it; dies with the node of the graph that holds it."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        # Without detaching, a saved output would refer to the node that refers to it.
        self.tensor = tensor.detach()


def saved_storage_bytes(operation: Callable[[], Tensor]) -> tuple[Tensor, dict[int, int]]:
    """Run `operation`; return its output and the storages that autograd keeps for its backward.

    Only what is still held when the operation ends counts: the graph of an unused branch is gone
    by then. Tensors that a custom function keeps by other means than ``save_for_backward`` do not
    pass the hooks and are not seen here.
    """
    alive: weakref.WeakSet[_Saved] = weakref.WeakSet()

    def pack(tensor: Tensor) -> _Saved:
        saved = _Saved(tensor)
        alive.add(saved)
        return saved

    def unpack(saved: _Saved) -> Tensor:
        return saved.tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        output = operation()
    return output, storage_bytes(saved.tensor for saved in alive)
