"""Copies of the buffers of a stage, for runs that must not change them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from jettison.torch.saved_storages import Place

Buffers = Sequence[tuple[nn.Module, str, Tensor]]


def copies_of(buffers: Buffers) -> list[tuple[nn.Module, str, Tensor]]:
    """Return buffers with copies of their contents.

    Those that share a storage share its copy. All others of one type are copied together, which on
    a GPU is one launch and not one for each.
    """
    storages = [buffer.untyped_storage() for _, _, buffer in buffers]
    addresses = [storage.data_ptr() for storage in storages]
    uses = Counter(addresses)
    shared: dict[int, torch.UntypedStorage] = {}
    groups: dict[tuple[torch.dtype, torch.device], tuple[list[Tensor], list[Tensor]]] = {}
    copies = []
    for (owner, name, buffer), storage, address in zip(buffers, storages, addresses, strict=True):
        if uses[address] == 1 and _is_alone(buffer, storage):
            copy = torch.empty_like(buffer, requires_grad=False)
            targets, sources = groups.setdefault((buffer.dtype, buffer.device), ([], []))
            targets.append(copy)
            sources.append(buffer)
        else:
            if address not in shared:
                shared[address] = storage.clone()
            copy = Place.of(buffer).on(shared[address])
        copies.append((owner, name, copy))
    with torch.no_grad():
        for targets, sources in groups.values():
            torch._foreach_copy_(targets, sources)
    return copies


@contextmanager
def in_place_of(buffers: Buffers) -> Iterator[None]:
    """Run the block with other buffers, and put back those that were there."""
    current = [owner._buffers[name] for owner, name, _ in buffers]
    try:
        for owner, name, content in buffers:
            owner._buffers[name] = content
        yield
    finally:
        for (owner, name, _), buffer in zip(buffers, current, strict=True):
            owner._buffers[name] = buffer


def _is_alone(buffer: Tensor, storage: torch.UntypedStorage) -> bool:
    """Tell whether a buffer is a plain tensor that is all there is in its storage."""
    return (
        type(buffer) is Tensor
        and buffer.is_contiguous()
        and buffer.nbytes == storage.nbytes()
        and not buffer.is_neg()
        and not buffer.is_conj()
    )
