"""Account of the distinct storages that are held, and of their largest total size."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from torch import Tensor

from jettison.instances.profilers.torch_graphs.storages import storage_bytes


class HeldStorages:
    """Exact account of what is held in the memory of a device.

    A storage counts once, however many tensors and holders it has, from the first `hold` to the
    last `release`. Several threads may call it.

    Attributes
    ----------
    peak_bytes
        The largest size that was held at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self.held_bytes = 0
        self.peak_bytes = 0

    def hold(self, tensors: Iterable[Tensor]) -> None:
        """Begin to hold tensors."""
        found = storage_bytes(tensors)
        with self._lock:
            for address, size_bytes in found.items():
                if not size_bytes:
                    continue
                self._holders[address] = self._holders.get(address, 0) + 1
                if self._holders[address] == 1:
                    self._bytes[address] = size_bytes
                    self.held_bytes += size_bytes
            self.peak_bytes = max(self.peak_bytes, self.held_bytes)

    def release(self, tensors: Iterable[Tensor]) -> None:
        """End to hold tensors; call it while they are still alive."""
        found = storage_bytes(tensors)
        with self._lock:
            for address, size_bytes in found.items():
                if not size_bytes:
                    continue
                self._holders[address] -= 1
                if not self._holders[address]:
                    del self._holders[address]
                    self.held_bytes -= self._bytes.pop(address)
