"""Copy of one value on the host: buffers to which its storages go, and from which they return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from jettison.instances.profilers.torch_graphs.storages import storage_address


@dataclass(frozen=True, slots=True)
class _Layout:
    """Place of a tensor in one of the storages."""

    storage: int
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype


class HostValue:
    """Host copy of a value, of tensors by register; its buffers serve one step after another.

    On a GPU the buffers are pinned, and copies return before they are complete: the stream that is
    current when they are called says when they are.
    """

    def __init__(self, tensors: Mapping[int, Tensor]) -> None:
        numbers: dict[int, int] = {}
        self._buffers: list[Tensor] = []
        self._layouts: dict[int, _Layout] = {}
        for register, tensor in tensors.items():
            storage = tensor.untyped_storage()
            address = storage_address(storage)
            if address not in numbers:
                numbers[address] = len(numbers)
                self._buffers.append(
                    torch.empty(
                        int(storage.nbytes()),
                        dtype=torch.uint8,
                        pin_memory=tensor.device.type == "cuda",
                    )
                )
            self._layouts[register] = _Layout(
                numbers[address],
                int(tensor.storage_offset()),
                tuple(tensor.size()),
                tuple(tensor.stride()),
                tensor.dtype,
            )

    @property
    def size_bytes(self) -> int:
        """Size of the buffers."""
        return sum(int(buffer.numel()) for buffer in self._buffers)

    def copy_out(self, tensors: Mapping[int, Tensor]) -> None:
        """Copy tensors to the host that look like those that it was made for."""
        for buffer, source in zip(self._buffers, self._contents(tensors), strict=True):
            buffer.copy_(source, non_blocking=True)

    def allocate(self, device: torch.device) -> dict[int, Tensor]:
        """Return tensors to copy back into, with nothing in them yet."""
        storages = [
            torch.empty(buffer.numel(), dtype=torch.uint8, device=device).untyped_storage()
            for buffer in self._buffers
        ]
        return {
            register: torch.empty(0, dtype=layout.dtype, device=device).set_(
                storages[layout.storage], layout.offset, layout.size, layout.stride
            )
            for register, layout in self._layouts.items()
        }

    def copy_in(self, tensors: Mapping[int, Tensor]) -> None:
        """Copy from the host into tensors that `allocate` returned."""
        for buffer, target in zip(self._buffers, self._contents(tensors), strict=True):
            target.copy_(buffer, non_blocking=True)

    def _contents(self, tensors: Mapping[int, Tensor]) -> list[Tensor]:
        """Return the storages of tensors as bytes, in the order of the buffers."""
        found: dict[int, Tensor] = {}
        for register, layout in self._layouts.items():
            if layout.storage not in found:
                tensor = tensors[register]
                found[layout.storage] = torch.empty(
                    0, dtype=torch.uint8, device=tensor.device
                ).set_(tensor.untyped_storage())
        return [found[place] for place in range(len(self._buffers))]
