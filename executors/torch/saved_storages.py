"""Tensors that autograd saves for one stage, as storages that can leave memory and come back."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import torch
from torch import Tensor

from jettison.torch.errors import ExecutionError


class Place(NamedTuple):
    """Location of a tensor in its storage; the view may be conjugated or negated."""

    dtype: torch.dtype
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    conjugated: bool
    negated: bool

    @classmethod
    def of(cls, tensor: Tensor) -> Place:
        """Return the place of a dense tensor."""
        return cls(
            tensor.dtype,
            tensor.storage_offset(),
            tensor.size(),
            tensor.stride(),
            tensor.is_conj(),
            tensor.is_neg(),
        )

    def on(self, storage: torch.UntypedStorage) -> Tensor:
        """Return the tensor at this place of a storage."""
        tensor = torch.empty(0, dtype=self.dtype, device=storage.device)
        tensor.set_(storage, self.offset, self.size, self.stride)
        if self.conjugated:
            tensor = tensor.conj()
        return torch._neg_view(tensor) if self.negated else tensor


class _Cell:
    """Holder of a storage: None while that is away. It lives as long as something refers to it."""

    __slots__ = ("__weakref__", "storage")

    def __init__(self, storage: torch.UntypedStorage | None) -> None:
        self.storage = storage


class Packed(NamedTuple):
    """Saved tensor: its place in the storage of a cell."""

    place: Place
    cell: _Cell


class _Kept(NamedTuple):
    """Saved tensor that does not move, with its version when it was saved."""

    tensor: Tensor
    version: int


# Tensors of other types may be more than a place in a storage.
_PLAIN_TYPES = frozenset({Tensor, torch.nn.Parameter})


class SavedStorages:
    r"""Storages of :math:`\bar a^\ell`, without the stage's input, parameters and buffers.

    `pack` and `unpack` are hooks for ``torch.autograd.graph.saved_tensors_hooks``: the graph then
    holds places instead of tensors, and what it saved may be elsewhere while it is not used. What
    it saved of the stage's input is looked up in the input that the backward operation is given:
    that one may have been computed again, or may have been away.

    A storage is held by the places in it, and by nothing else. The graph lets go of them one by one
    in the backward operation, and each storage is freed as early as without hooks, which is what
    the stage's overhead was measured with. No tensor of the graph is held, which would be a cycle
    that no garbage collector sees.

    Parameters
    ----------
    stage_input
        The input of the stage.
    resident
        Addresses of the storages that stay in memory anyway; None if all do but that of the input,
        which is computed again, or comes back, before the backward operation. Then the graph keeps
        its tensors, which takes less time than finding their places.
    """

    def __init__(self, stage_input: Tensor, resident: frozenset[int] | None) -> None:
        self._resident = resident
        self._input = _Cell(None)
        self._input_address = stage_input.untyped_storage().data_ptr()
        self._cells: list[weakref.ref[_Cell]] = []
        # An address may be used again, by another storage, once the cell of the first is gone.
        self._by_address: dict[int, weakref.ref[_Cell]] = {}
        self._device = stage_input.device
        # Until the forward operation ends: what was saved, and its version then.
        self._versions: list[_Kept] = []

    def pack(self, tensor: Tensor) -> Packed | _Kept:
        """Return the place of a tensor; the tensor itself where a place cannot describe it."""
        kept = _Kept(tensor.detach(), tensor._version)
        if (
            type(tensor) not in _PLAIN_TYPES
            or tensor.layout != torch.strided
            or tensor.device != self._device
        ):
            return kept
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if self._resident is None:
            is_moving = address == self._input_address
        else:
            is_moving = address not in self._resident
        if not is_moving or not address:
            return kept
        self._versions.append(kept)
        return Packed(Place.of(tensor), self._cell(address, storage))

    def unpack(self, packed: Packed | _Kept) -> Tensor:
        """Return the tensor at a place; its storage must be in memory.

        Raises
        ------
        ExecutionError
            If the tensor has been written to since it was saved.
        """
        if isinstance(packed, _Kept):
            if packed.tensor._version != packed.version:
                raise ExecutionError(
                    "what a stage has saved, or a buffer was modified in place between the forward "
                    "and the backward part of the step, which needs it as it was; modify it "
                    "afterwards, or a clone() of it"
                )
            return packed.tensor
        storage = packed.cell.storage
        if storage is None:
            raise ExecutionError(
                "what a stage has saved of its input is used outside its backward operation; "
                "a stage must not hand tensors to others past their inputs"
            )
        return packed.place.on(storage)

    @property
    def moves(self) -> bool:
        """Whether anything can leave memory, the output included."""
        return self._resident is not None

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

    def add_output(self, output: Tensor) -> Packed:
        """Add the stage's output to the storages, and return its place.

        An output that is a view of the input is a part of what is saved, as if it were a copy: it
        has to come back also where the input does not.
        """
        storage = output.untyped_storage()
        cell = self._cell(storage.data_ptr(), storage)
        if cell is self._input:
            cell = self._new_cell(storage)
        return Packed(Place.of(output), cell)

    def use_input(self, stage_input: Tensor | None) -> None:
        """Set the input that saved views of it refer to, or remove it."""
        self._input.storage = None if stage_input is None else stage_input.untyped_storage()

    def release(self) -> None:
        """Stop holding all storages."""
        for cell in self._living():
            cell.storage = None

    def restore(self, storages: list[torch.UntypedStorage]) -> None:
        """Take back the storages, or copies of them in the same order."""
        for cell, storage in zip(self._living(), storages, strict=True):
            cell.storage = storage

    def look(self) -> list[torch.UntypedStorage]:
        """Return the storages without giving them up."""
        return [cell.storage for cell in self._living() if cell.storage is not None]

    def _living(self) -> list[_Cell]:
        return [cell for found in self._cells if (cell := found()) is not None]

    def _cell(self, address: int, storage: torch.UntypedStorage) -> _Cell:
        if address == self._input_address:
            return self._input
        found = self._by_address.get(address)
        cell = None if found is None else found()
        if cell is None:
            cell = self._new_cell(storage)
            self._by_address[address] = weakref.ref(cell)
        return cell

    def _new_cell(self, storage: torch.UntypedStorage) -> _Cell:
        cell = _Cell(storage)
        self._cells.append(weakref.ref(cell))
        return cell
