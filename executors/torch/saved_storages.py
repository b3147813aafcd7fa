"""Tensors that autograd saves for one stage, as storages that can leave memory and come back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jettison.torch.errors import ExecutionError

_INPUT = -1


@dataclass(frozen=True, slots=True)
class Place:
    """Location of a tensor: a storage by its number, or the stage's input, and a view of it.

    The view may be conjugated or negated.
    """

    storage: int
    dtype: torch.dtype
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    conjugated: bool
    negated: bool

    @classmethod
    def of(cls, tensor: Tensor, storage: int) -> Place:
        """Return the place of a dense tensor, given the number of its storage."""
        return cls(
            storage=storage,
            dtype=tensor.dtype,
            offset=int(tensor.storage_offset()),
            size=tuple(tensor.size()),
            stride=tuple(tensor.stride()),
            conjugated=bool(tensor.is_conj()),
            negated=bool(tensor.is_neg()),
        )

    def on(self, storage: torch.UntypedStorage) -> Tensor:
        """Return the tensor at this place of a storage."""
        tensor = torch.empty(0, dtype=self.dtype, device=storage.device)
        tensor.set_(storage, self.offset, self.size, self.stride)
        if self.conjugated:
            tensor = tensor.conj()
        return torch._neg_view(tensor) if self.negated else tensor


@dataclass(frozen=True, slots=True)
class _Kept:
    """Saved tensor that does not move, with its version when it was saved."""

    tensor: Tensor
    version: int


class SavedStorages:
    r"""Storages of :math:`\bar a^\ell`, without the stage's input, parameters and buffers.

    `pack` and `unpack` are hooks for ``torch.autograd.graph.saved_tensors_hooks``: the graph then
    holds places instead of tensors, and what it saved may be elsewhere while it is not used. What
    it saved of the stage's input is looked up in the input that the backward operation is given:
    that one may have been computed again, or may have been away.

    The object holds storages and no tensor of the graph, which would be a cycle that no garbage
    collector sees.

    Parameters
    ----------
    stage_input
        The input of the stage.
    resident
        Addresses of the storages that stay in memory anyway.
    """

    def __init__(self, stage_input: Tensor, resident: frozenset[int]) -> None:
        self._resident = resident
        self._numbers = {stage_input.untyped_storage().data_ptr(): _INPUT}
        self._device = stage_input.device
        self._storages: list[torch.UntypedStorage] = []
        self._input: torch.UntypedStorage | None = None
        # Until the forward operation ends: what was saved, and its version then.
        self._versions: list[tuple[Tensor, int]] = []

    def pack(self, tensor: Tensor) -> Place | _Kept:
        """Return the place of a tensor; the tensor itself where a place cannot describe it."""
        if (
            type(tensor) not in {Tensor, torch.nn.Parameter}
            or tensor.layout != torch.strided
            or tensor.device != self._device
            or tensor.untyped_storage().data_ptr() in self._resident | {0}
        ):
            return _Kept(tensor.detach(), tensor._version)
        self._versions.append((tensor.detach(), tensor._version))
        return Place.of(tensor, self._number(tensor.untyped_storage()))

    def unpack(self, packed: Place | _Kept) -> Tensor:
        """Return the tensor at a place; its storage must be in memory.

        Raises
        ------
        ExecutionError
            If the tensor has been written to since it was saved.
        """
        if isinstance(packed, _Kept):
            if packed.tensor._version != packed.version:
                raise ExecutionError(
                    "a buffer was modified in place between the forward and the backward part of "
                    "the step, which needs it as it was; modify it afterwards"
                )
            return packed.tensor
        storage = self._input if packed.storage == _INPUT else self._storages[packed.storage]
        if storage is None:
            raise ExecutionError(
                "what a stage has saved of its input is used outside its backward operation; "
                "a stage must not hand tensors to others past their inputs"
            )
        return packed.on(storage)

    def check_versions(self) -> None:
        """Check, when the forward operation ends, that it has not written to its saved tensors.

        Autograd does not look at versions of what passes through hooks.

        Raises
        ------
        ExecutionError
            If it has.
        """
        versions, self._versions = self._versions, []
        if any(tensor._version != version for tensor, version in versions):
            raise ExecutionError(
                "a stage modifies in place what its own backward operation needs; "
                "set inplace=False there, or modify a clone()"
            )

    def add_output(self, output: Tensor) -> Place:
        """Add the stage's output to the storages, and return its place.

        An output that is a view of the input is a part of what is saved, as if it were a copy: it
        has to come back also where the input does not.
        """
        storage = output.untyped_storage()
        number = self._numbers.get(storage.data_ptr(), _INPUT)
        if number == _INPUT:
            number = len(self._storages)
            self._storages.append(storage)
        return Place.of(output, number)

    def use_input(self, stage_input: Tensor | None) -> None:
        """Set the input that saved views of it refer to, or remove it."""
        self._input = None if stage_input is None else stage_input.untyped_storage()

    def release(self) -> list[torch.UntypedStorage]:
        """Return all storages and stop holding them."""
        storages, self._storages = self._storages, []
        return storages

    def restore(self, storages: list[torch.UntypedStorage]) -> None:
        """Take back the storages, or copies of them in the same order."""
        self._storages = storages

    def look(self) -> list[torch.UntypedStorage]:
        """Return the storages without giving them up."""
        return list(self._storages)

    def _number(self, storage: torch.UntypedStorage) -> int:
        address = storage.data_ptr()
        if address not in self._numbers:
            self._numbers[address] = len(self._storages)
            self._storages.append(storage)
        return self._numbers[address]
