"""Recorder of a training step: every call of an operator, and the end of every storage.

Operators are seen below autograd, as selective checkpointing sees them. A storage begins with the
call that returns it and ends when nothing refers to it any more: not Python, not autograd, not a
checkpoint. Ends are noticed when the next operator is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import SAC_IGNORED_OPS

# What random operators draw differs unless they run in the same order.
_RANDOM = torch.Tag.nondeterministic_seeded


@dataclass(frozen=True, slots=True)
class Where:
    """Place of a call: a region and whether it runs again; region None outside of all."""

    region: int | None
    again: bool


OUTSIDE = Where(None, again=False)


@dataclass(eq=False, slots=True)
class RecordedCall:
    """Call of an operator.

    Attributes
    ----------
    target
        The operator.
    where
        Its place.
    backward
        Whether the backward pass calls it.
    is_counted
        Whether a policy of selective checkpointing decides about it: it is asked, and it is no
        view. Views take no memory, and autograd makes some again when it sees fit.
    reads, writes
        Numbers of the storages that it is called with, and of those it changes.
    makes
        Numbers of new storages, each with its bytes.
    arguments, options, results
        What it was called with and what it returned, with fake tensors that share no storage with
        those of the step.
    """

    target: Any
    where: Where
    backward: bool
    is_counted: bool
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    makes: tuple[tuple[int, int], ...]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    results: tuple[Tensor | None, ...]

    @property
    def is_random(self) -> bool:
        """Whether it draws random numbers."""
        return _RANDOM in getattr(self.target, "tags", ())


@dataclass(frozen=True, slots=True)
class StorageEnd:
    """End of a storage."""

    storage: int


@dataclass(eq=False)
class _Log:
    events: list[RecordedCall | StorageEnd] = field(default_factory=list)
    alive: dict[int, tuple[StorageWeakRef, int]] = field(default_factory=dict)


class CallRecorder(TorchDispatchMode):
    """Recorder of calls and storages; a mode to put around a step on fake tensors.

    Parameters
    ----------
    resident
        Tensors that are there before the step and after it; their storages are not recorded.

    Attributes
    ----------
    backward
        Whether the backward pass has begun; for the step to set.
    """

    def __init__(self, resident: list[Tensor]) -> None:
        super().__init__()
        self._log = _Log()
        self._resident = {tensor.untyped_storage()._cdata for tensor in resident}
        self._where = OUTSIDE
        self.backward = False
        self._count = 0

    @property
    def events(self) -> list[RecordedCall | StorageEnd]:
        """Calls and ends, in order."""
        return self._log.events

    @property
    def alive(self) -> set[int]:
        """Numbers of the storages that are there now."""
        self._note_ends()
        return {number for _, number in self._log.alive.values()}

    def number_of(self, tensor: Tensor) -> int | None:
        """Return the number of a tensor's storage; None for a resident one."""
        found = self._log.alive.get(tensor.untyped_storage()._cdata)
        return None if found is None else found[1]

    @contextmanager
    def inside(self, region: int, *, again: bool) -> Iterator[None]:
        """Attribute the calls of the block to a region."""
        before, self._where = self._where, Where(region, again)
        try:
            yield
        finally:
            self._where = before

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record a call."""
        options = kwargs or {}
        self._note_ends()
        given = _tensors((args, options))
        reads = tuple(dict.fromkeys(n for item in given if (n := self.number_of(item)) is not None))
        writes = tuple(
            number
            for item in _written(func, args, options)
            if (number := self.number_of(item)) is not None
        )
        twins = pytree.tree_map_only(Tensor, _twin, (args, options))
        result = func(*args, **options)
        made: list[tuple[int, int]] = []
        for item in _tensors(result):
            storage = item.untyped_storage()
            key = storage._cdata
            if key not in self._resident and key not in self._log.alive:
                self._log.alive[key] = (StorageWeakRef(storage), self._count)
                made.append((self._count, int(storage.nbytes())))
                self._count += 1
        results = list(result) if isinstance(result, tuple | list) else [result]
        self.events.append(
            RecordedCall(
                target=func,
                where=self._where,
                backward=self.backward,
                is_counted=func not in SAC_IGNORED_OPS and not _is_view(func),
                reads=reads,
                writes=writes,
                makes=tuple(made),
                arguments=twins[0],
                options=twins[1],
                results=tuple(
                    _twin(item) if isinstance(item, Tensor) else None for item in results
                ),
            )
        )
        return result

    def _note_ends(self) -> None:
        alive = self._log.alive
        for key in [key for key, (reference, _) in alive.items() if reference.expired()]:
            self.events.append(StorageEnd(alive.pop(key)[1]))


def _tensors(tree: Any) -> list[Tensor]:
    return [item for item in pytree.tree_leaves(tree) if isinstance(item, Tensor)]


def _written(target: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> list[Tensor]:
    """Return the arguments that an operator changes, as its schema says."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return []
    found: list[Tensor] = []
    for place, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = arguments[place] if place < len(arguments) else options.get(argument.name)
            found += _tensors(given)
    return found


def _is_view(target: Any) -> bool:
    """Tell whether an operator returns a view of an argument that it does not change."""
    schema = getattr(target, "_schema", None)
    return schema is not None and any(
        result.alias_info is not None and not result.alias_info.is_write
        for result in schema.returns
    )


def _twin(tensor: Tensor) -> Tensor:
    return torch.empty_strided(
        tensor.size(), tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
