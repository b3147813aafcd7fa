"""Memory meter for a GPU: the statistics of PyTorch's CUDA allocator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType

import torch

from jettison.instances.profilers.device.memory_window import MemoryWindow


class CudaMemoryMeter(AbstractContextManager["CudaMemoryMeter"]):
    """Memory meter for one GPU: measures each window opened inside its ``with`` block.

    Counts allocated blocks, whose sizes `allocated_size` explains, and beside them what the
    allocator reserves; not what libraries take without it. The peak statistics of the device are
    reset.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def __enter__(self) -> CudaMemoryMeter:
        return self

    @contextmanager
    def window(self) -> Iterator[MemoryWindow]:
        """Measure the memory of the block; windows follow one another and do not nest."""
        window = MemoryWindow()
        torch.cuda.synchronize(self._device)
        torch.cuda.reset_peak_memory_stats(self._device)
        window.start_bytes = int(torch.cuda.memory_allocated(self._device))
        yield window
        torch.cuda.synchronize(self._device)
        window.peak_bytes = int(torch.cuda.max_memory_allocated(self._device))
        window.reserved_bytes = int(torch.cuda.max_memory_reserved(self._device))
        window.end_bytes = int(torch.cuda.memory_allocated(self._device))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None
