"""Memory meter for fake tensors: allocations and releases of storages without contents."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType, TracebackType
from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from jettison.instances.profilers.device.memory_window import MemoryWindow
from jettison.instances.profilers.torch_graphs.storages import storage_address

_Storages = weakref.ref[Any]


class FakeMemoryMeter(AbstractContextManager["FakeMemoryMeter"]):
    """Memory meter for fake tensors: measures each window opened inside its ``with`` block.

    A storage is allocated when an operator returns it for the first time, and released when the
    last tensor that refers to it is gone. The workspace of a kernel is not seen, nor what it frees
    before it returns.
    """

    def __init__(self) -> None:
        self._allocations = _Allocations()

    def __enter__(self) -> FakeMemoryMeter:
        self._allocations.__enter__()
        return self

    @contextmanager
    def window(self) -> Iterator[MemoryWindow]:
        """Measure the memory of the block; windows follow one another and do not nest."""
        window = MemoryWindow(*(self._allocations.level_bytes,) * 3)
        self._allocations.window = window
        yield window
        window.end_bytes = self._allocations.level_bytes
        self._allocations.window = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._allocations.__exit__(kind, error, trace)


class _Allocations(TorchDispatchMode):  # type: ignore[misc]
    """Mode of PyTorch that counts the bytes of the storages that operators have made."""

    def __init__(self) -> None:
        super().__init__()
        self.level_bytes = 0
        self.window: MemoryWindow | None = None
        self._alive: dict[int, _Storages] = {}

    def __torch_dispatch__(
        self,
        function: Any,
        types: Any,
        arguments: tuple[Any, ...] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        given = options or MappingProxyType({})
        # What an operator is called with was there before: its results may share storages with it.
        before = {
            storage_address(item.untyped_storage())
            for item in pytree.tree_leaves((arguments, dict(given)))
            if isinstance(item, Tensor)
        }
        results = function(*arguments, **given)
        for item in pytree.tree_leaves(results):
            if isinstance(item, Tensor):
                storage = item.untyped_storage()
                address = storage_address(storage)
                if address not in before and address not in self._alive:
                    self._add(storage, address)
        return results

    def _add(self, storage: Any, address: int) -> None:
        size = int(storage.nbytes())

        def released(_: object) -> None:
            del self._alive[address]
            self.level_bytes -= size

        self._alive[address] = weakref.ref(storage, released)
        self.level_bytes += size
        if self.window is not None:
            self.window.peak_bytes = max(self.window.peak_bytes, self.level_bytes)
