"""Gradient of the weights of one stage: where each part of it is in its storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from jettison.torch.host_copies import Storages
from jettison.torch.saved_storages import Place


class StageGradient:
    """Gradient of some parameters.

    Parameters
    ----------
    trained
        The parameters.
    device
        The device.

    Attributes
    ----------
    places
        By parameter, the place of its gradient in one of the storages that were noted last.
    """

    def __init__(self, trained: Sequence[nn.Parameter], device: torch.device) -> None:
        self._trained, self._device = trained, device
        self._storage_bytes: list[int] = []
        self.places: list[tuple[nn.Parameter, Place, int]] = []

    @property
    def exists(self) -> bool:
        """Whether something of it is on the device, or arriving."""
        return any(parameter.grad is not None for parameter in self._trained)

    def on_device(self) -> Iterator[Tensor]:
        """Yield the gradients that are on the device."""
        for parameter in self._trained:
            if parameter.grad is not None:
                yield parameter.grad

    def note_places(self) -> Storages:
        """Note where each gradient is in its storage; return the storages."""
        storages: dict[int, torch.UntypedStorage] = {}
        self.places = []
        for parameter in self._trained:
            if parameter.grad is not None:
                storage = parameter.grad.untyped_storage()
                storages.setdefault(storage._cdata, storage)
                index = list(storages).index(storage._cdata)
                self.places.append((parameter, Place.of(parameter.grad), index))
        self._storage_bytes = [int(storage.nbytes()) for storage in storages.values()]
        return list(storages.values())

    def new_storages(self) -> Storages:
        """Return storages on the device like those that were noted."""
        return [
            torch.UntypedStorage(size_bytes, device=self._device)
            for size_bytes in self._storage_bytes
        ]

    def put_on(self, storages: Storages) -> None:
        """Make the gradients parts of storages."""
        for parameter, place, index in self.places:
            parameter.grad = place.on(storages[index])

    def forget(self) -> None:
        """Free the gradients."""
        for parameter in self._trained:
            parameter.grad = None
