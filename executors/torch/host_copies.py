"""Copies of tensors on the host: offload, prefetch and synchronisation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import torch

Name = Hashable

Storages = list[torch.UntypedStorage]


class HostCopies(Protocol):
    """Transfers of a device for offload schedules; a name stands for all storages of a tensor.

    The host has one place for each name, which is allocated once. What is there is written again
    only after `outdate`.
    """

    def offload(self, name: Name, storages: Storages) -> None:
        """Begin to copy to the host, if it has no copy; the storages are held until `release`."""

    def release(self, name: Name) -> None:
        """Make the device's next operations wait for the copy, and release the storages."""

    def prefetch(self, name: Name, into: Storages | None = None) -> Storages:
        """Begin to copy back from the host, into new memory or into given storages.

        Given ones are the caller's, who waits for the arrival before they are freed.
        """

    def await_arrival(self, name: Name) -> None:
        """Make the device's next operations wait until the tensor is back."""

    def is_arriving(self, name: Name) -> bool:
        """Tell whether a tensor is on its way back, and nothing has waited for it."""

    def outdate(self, name: Name) -> None:
        """Make the host's copy an old one, in whose place the next offload writes."""

    def on_host(self, name: Name) -> Storages:
        """Return the host's copy when it is complete and nothing reads it: the host may use it."""


def host_copies(device: torch.device) -> HostCopies:
    """Return the copies for a device."""
    return CudaHostCopies(device) if device.type == "cuda" else CpuHostCopies()


class CpuHostCopies:
    """Copies in another part of the same memory: they save nothing, and behave the same."""

    def __init__(self) -> None:
        self._copies: dict[Name, Storages] = {}
        self._current: set[Name] = set()
        self._leaving: dict[Name, Storages] = {}

    def offload(self, name: Name, storages: Storages) -> None:
        """Copy; hold the storages until `release`."""
        self._leaving[name] = storages
        if name in self._current:
            return
        places = self._copies.get(name)
        if places is None or _sizes(places) != _sizes(storages):
            places = self._copies[name] = [torch.UntypedStorage(s.nbytes()) for s in storages]
        for place, storage in zip(places, storages, strict=True):
            place.copy_(storage)
        self._current.add(name)

    def release(self, name: Name) -> None:
        """Release the storages."""
        self._leaving.pop(name, None)

    def prefetch(self, name: Name, into: Storages | None = None) -> Storages:
        """Copy back."""
        copies = self._copies[name]
        if into is None:
            return [storage.clone() for storage in copies]
        for storage, copy in zip(into, copies, strict=True):
            storage.copy_(copy)
        return into

    def await_arrival(self, name: Name) -> None:
        """Do nothing: a copy on a CPU is finished when it returns."""

    def is_arriving(self, name: Name) -> bool:
        """Return False."""
        return False

    def outdate(self, name: Name) -> None:
        """Let the next offload write into the place of the copy."""
        self._current.discard(name)

    def on_host(self, name: Name) -> Storages:
        """Return the copy."""
        return self._copies[name]


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
        # The last copy of a name in each direction. Copies of one direction end in the order in
        # which they begin, so that whoever waits for one has waited for all before it.
        self._copied: dict[Name, torch.cuda.Event] = {}
        self._arrived: dict[Name, torch.cuda.Event] = {}
        # Copies that the computing stream has not waited for, in that order.
        self._departing: dict[Name, None] = {}
        self._arriving: dict[Name, None] = {}
        self._current: set[Name] = set()
        self._leaving: dict[Name, Storages] = {}

    def offload(self, name: Name, storages: Storages) -> None:
        """Copy on the outgoing stream; hold the storages until `release`."""
        self._leaving[name] = storages
        if name in self._current:
            return
        sources = _as_bytes(storages, self._device)
        copies = self._copies.get(name)
        if copies is None or [c.numel() for c in copies] != [s.numel() for s in sources]:
            copies = self._copies[name] = [
                torch.empty(source.numel(), dtype=torch.uint8, pin_memory=True)
                for source in sources
            ]
        self._out.wait_stream(torch.cuda.current_stream(self._device))
        if name in self._arrived:
            # What leaves may have to arrive first, and its place on the host to be read.
            self._out.wait_event(self._arrived[name])
        with torch.cuda.stream(self._out):
            for copy, source in zip(copies, sources, strict=True):
                copy.copy_(source, non_blocking=True)
            self._copied[name] = self._out.record_event()
        self._departing.pop(name, None)
        self._departing[name] = None
        self._current.add(name)

    def release(self, name: Name) -> None:
        """Make the computing stream wait for the copy, after which it may reuse the memory."""
        if self._leaving.pop(name, None) is not None and name in self._departing:
            torch.cuda.current_stream(self._device).wait_event(self._copied[name])
            _remove_up_to(name, self._departing)

    def prefetch(self, name: Name, into: Storages | None = None) -> Storages:
        """Copy back on the incoming stream, into memory that the computing stream allocates."""
        copies = self._copies[name]
        if into is None:
            targets = [
                torch.empty(copy.numel(), dtype=torch.uint8, device=self._device) for copy in copies
            ]
        else:
            targets = _as_bytes(into, self._device)
        self._back.wait_stream(torch.cuda.current_stream(self._device))
        if name in self._copied:
            self._back.wait_event(self._copied[name])
        with torch.cuda.stream(self._back):
            for target, copy in zip(targets, copies, strict=True):
                target.copy_(copy, non_blocking=True)
                if into is None:
                    # Dropped before anything waited for it, its memory is not reused too early.
                    target.record_stream(self._back)
            self._arrived[name] = self._back.record_event()
        self._arriving.pop(name, None)
        self._arriving[name] = None
        return [target.untyped_storage() for target in targets]

    def await_arrival(self, name: Name) -> None:
        """Make the computing stream wait for the copy, once."""
        if name in self._arriving:
            torch.cuda.current_stream(self._device).wait_event(self._arrived[name])
            _remove_up_to(name, self._arriving)

    def is_arriving(self, name: Name) -> bool:
        """Tell whether nothing has waited for a copy back."""
        return name in self._arriving

    def outdate(self, name: Name) -> None:
        """Let the next offload write into the place of the copy, which stays allocated."""
        self._current.discard(name)

    def on_host(self, name: Name) -> Storages:
        """Return the copy; the calling thread waits for the copies in both directions."""
        for events in (self._copied, self._arrived):
            if name in events:
                events[name].synchronize()
        return [copy.untyped_storage() for copy in self._copies[name]]


def _remove_up_to(last: Name, names: dict[Name, None]) -> None:
    """Remove names in order, up to and with the last."""
    for name in list(names):
        del names[name]
        if name == last:
            return


def _as_bytes(storages: Sequence[torch.UntypedStorage], device: torch.device) -> list[torch.Tensor]:
    return [torch.empty(0, dtype=torch.uint8, device=device).set_(storage) for storage in storages]


def _sizes(storages: Storages) -> list[int]:
    return [int(storage.nbytes()) for storage in storages]
