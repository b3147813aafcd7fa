"""Copies of tensors on the host: offload, prefetch and synchronisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from jettison.schedules.remat_chain.contents import Tensor as Name

Storages = list[torch.UntypedStorage]


class HostCopies(Protocol):
    """Transfers of a device for offload schedules; a name stands for all storages of a tensor."""

    def offload(self, name: Name, storages: Storages) -> None:
        """Begin to copy to the host; the storages are held until `release`."""

    def release(self, name: Name) -> None:
        """Make the device's next operations wait for the copy, and release the storages."""

    def prefetch(self, name: Name) -> Storages:
        """Begin to copy back from the host, into new memory."""

    def await_arrival(self, name: Name) -> None:
        """Make the device's next operations wait until the tensor is back."""


def host_copies(device: torch.device) -> HostCopies:
    """Return the copies for a device."""
    return CudaHostCopies(device) if device.type == "cuda" else CpuHostCopies()


class CpuHostCopies:
    """Plain copies in the same memory: they save nothing, and behave the same."""

    def __init__(self) -> None:
        self._copies: dict[Name, Storages] = {}
        self._leaving: dict[Name, Storages] = {}

    def offload(self, name: Name, storages: Storages) -> None:
        """Copy; hold the storages until `release`."""
        self._copies.setdefault(name, [storage.clone() for storage in storages])
        self._leaving[name] = storages

    def release(self, name: Name) -> None:
        """Release the storages."""
        self._leaving.pop(name, None)

    def prefetch(self, name: Name) -> Storages:
        """Copy back."""
        return [storage.clone() for storage in self._copies[name]]

    def await_arrival(self, name: Name) -> None:
        """Do nothing: a copy on a CPU is finished when it returns."""


class CudaHostCopies:
    """Copies through pinned memory on two side streams, one for each direction.

    An offload begins when what was issued before it has ended, and runs beside what is issued
    after it. A prefetch does, too: its memory may be that of the operation just before it, so that
    it cannot begin while that one runs, as the replay would let it.

    Parameters
    ----------
    device
        The CUDA device; its current stream computes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._out = torch.cuda.Stream(device)
        self._back = torch.cuda.Stream(device)
        self._copies: dict[Name, list[torch.Tensor]] = {}
        self._copied: dict[Name, torch.cuda.Event] = {}
        self._leaving: dict[Name, Storages] = {}
        self._arrived: dict[Name, torch.cuda.Event] = {}

    def offload(self, name: Name, storages: Storages) -> None:
        """Copy on the outgoing stream; hold the storages until `release`."""
        self._leaving[name] = storages
        if name in self._copies:
            return
        self._out.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._out):
            copies = []
            for source in _as_bytes(storages, self._device):
                host = torch.empty(source.numel(), dtype=torch.uint8, pin_memory=True)
                copies.append(host.copy_(source, non_blocking=True))
            self._copied[name] = self._out.record_event()
        self._copies[name] = copies

    def release(self, name: Name) -> None:
        """Make the computing stream wait for the copy, after which it may reuse the memory."""
        if self._leaving.pop(name, None) is not None:
            torch.cuda.current_stream(self._device).wait_event(self._copied[name])

    def prefetch(self, name: Name) -> Storages:
        """Copy back on the incoming stream, into memory that the computing stream allocates."""
        copies = self._copies[name]
        targets = [
            torch.empty(copy.numel(), dtype=torch.uint8, device=self._device) for copy in copies
        ]
        self._back.wait_stream(torch.cuda.current_stream(self._device))
        self._back.wait_event(self._copied[name])
        with torch.cuda.stream(self._back):
            for target, copy in zip(targets, copies, strict=True):
                target.copy_(copy, non_blocking=True)
                # Dropped before anything waited for it, its memory is not reused too early.
                target.record_stream(self._back)
            self._arrived[name] = self._back.record_event()
        return [target.untyped_storage() for target in targets]

    def await_arrival(self, name: Name) -> None:
        """Make the computing stream wait for the copy, once."""
        event = self._arrived.pop(name, None)
        if event is not None:
            torch.cuda.current_stream(self._device).wait_event(event)


def _as_bytes(storages: Sequence[torch.UntypedStorage], device: torch.device) -> list[torch.Tensor]:
    return [torch.empty(0, dtype=torch.uint8, device=device).set_(storage) for storage in storages]
