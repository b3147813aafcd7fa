"""Parameters in storages of their own, whose sizes can change, and their twins on the host."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from jettison.torch.host_copies import Storages
from jettison.torch.saved_storages import Place


def own_storages(parameters: Sequence[nn.Parameter], device: torch.device) -> Storages:
    """Move parameters into storages of their own on a device, whose sizes can change."""
    moved: dict[int, torch.UntypedStorage] = {}
    old = {item.untyped_storage()._cdata: item.untyped_storage() for item in parameters}
    for parameter in parameters:
        key = parameter.untyped_storage()._cdata
        if key not in moved:
            moved[key] = torch.UntypedStorage(old[key].nbytes(), device=device)
            moved[key].copy_(old[key])
        parameter.data = Place.of(parameter.detach()).on(moved[key])
    return [storage for storage in moved.values() if storage.nbytes()]


def twins_of(
    parameters: Sequence[nn.Parameter], storages: Storages, hosted: Storages
) -> list[nn.Parameter]:
    """Return parameters at the same places of storages on the host."""
    places = dict(zip((storage._cdata for storage in storages), hosted, strict=True))
    return [
        nn.Parameter(Place.of(item).on(places[item.untyped_storage()._cdata]))
        for item in parameters
    ]
