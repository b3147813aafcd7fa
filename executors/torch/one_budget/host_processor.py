"""Processor of the host: updates that run there beside the device."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import torch


class HostProcessor(Protocol):
    """Processor that runs the host's updates one after the other."""

    def submit(self, number: int, update: Callable[[], None]) -> None:
        """Run the update of a stage, after those that were submitted before."""

    def wait(self, number: int) -> None:
        """Wait until the last update of a stage has ended; errors of it are raised here."""

    def close(self) -> None:
        """Wait for all, and end."""


def host_processor(device: torch.device) -> HostProcessor:
    """Return the processor of the host of a device."""
    return _Beside() if device.type == "cuda" else _InTurn()


class _InTurn:
    """Host whose device is the same processor: an update runs when it is submitted."""

    def submit(self, number: int, update: Callable[[], None]) -> None:
        update()

    def wait(self, number: int) -> None:
        """Do nothing: it has ended."""

    def close(self) -> None:
        """Do nothing."""


class _Beside:
    """Host beside a GPU: a thread waits for gradients and updates, while others are launched."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jettison-host-updates")
        self._last: dict[int, Future[None]] = {}

    def submit(self, number: int, update: Callable[[], None]) -> None:
        self._last[number] = self._thread.submit(update)

    def wait(self, number: int) -> None:
        future = self._last.pop(number, None)
        if future is not None:
            future.result()

    def close(self) -> None:
        for number in list(self._last):
            self.wait(number)
        self._thread.shutdown()
