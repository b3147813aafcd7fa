"""Repeated runs of a stage exactly like its first: random numbers, buffers and autocast."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.torch.saved_storages import Place

StageCall = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class _Generators:
    """States of the global random number generators of PyTorch, Python and NumPy."""

    cpu: Tensor
    cuda: tuple[tuple[torch.device, Tensor], ...]
    python: Any
    numpy: Any

    @classmethod
    def now(cls, devices: Iterable[torch.device]) -> _Generators:
        return cls(
            cpu=torch.get_rng_state(),
            cuda=tuple((device, torch.cuda.get_rng_state(device)) for device in devices),
            python=random.getstate(),
            numpy=np.random.get_state(),  # noqa: NPY002
        )

    def shared_with(self, earlier: _Generators | None) -> _Generators:
        """Return these states, with the memory of earlier ones where nothing was drawn since."""
        if earlier is None or not torch.equal(self.cpu, earlier.cpu):
            return self
        return replace(self, cpu=earlier.cpu)

    def put_back(self) -> None:
        torch.set_rng_state(self.cpu)
        for device, state in self.cuda:
            torch.cuda.set_rng_state(state, device)
        random.setstate(self.python)
        np.random.set_state(self.numpy)  # noqa: NPY002


@dataclass(frozen=True, slots=True)
class _Found:
    """State that a stage found at its first run: generators and buffers."""

    generators: _Generators
    buffers: tuple[tuple[nn.Module, str, Tensor], ...]


class GeneratorLog:
    """States of the generators that the stages of a step found, each held once.

    A state of the CPU's generator has 5 kB, and few stages draw numbers.
    """

    def __init__(self) -> None:
        self._last: _Generators | None = None

    def now(self, devices: Iterable[torch.device]) -> _Generators:
        """Return the present states."""
        self._last = _Generators.now(devices).shared_with(self._last)
        return self._last


class StageRunner:
    """Runner of one stage in one training step: every later run repeats the first exactly.

    The first run draws random numbers and updates buffers as in a plain step. A repeated run finds
    the generators and the buffers as the first one did, and leaves no trace in either: it works on
    copies of the buffers, so that running statistics are updated once. What else a stage keeps from
    one run to the next (a counter in Python, a tensor that is no buffer) is its own affair.

    Parameters
    ----------
    name
        Name of the stage, for messages.
    call
        The module, or the loss.
    autocast
        The state in which it runs.
    log
        Log of the generators' states, which all stages of the step share.
    repeats
        Whether it will run more than once; what it finds is only kept if so.
    """

    def __init__(
        self,
        name: str,
        call: StageCall,
        autocast: AutocastState,
        log: GeneratorLog,
        *,
        repeats: bool,
    ) -> None:
        self._name = name
        self._call = call
        self._autocast = autocast
        self._log = log
        self._repeats = repeats
        self._found: _Found | None = None

    def run(self, stage_input: Tensor) -> Tensor:
        """Return the output; `stage_input` is as in every other run of this step.

        Raises
        ------
        InputError
            If the stage will run again, and writes to its parameters.
        """
        with self._autocast.restored():
            if self._found is not None:
                with _generators_at(self._found.generators), _copied_buffers(self._found.buffers):
                    return self._call(stage_input)
            if not self._repeats:
                return self._call(stage_input)
            parameters = [] if self._module is None else list(self._module.parameters())
            versions = [parameter._version for parameter in parameters]
            self._found = self._look([stage_input, *parameters])
            output = self._call(stage_input)
            if [parameter._version for parameter in parameters] != versions:
                raise InputError(
                    "the stage writes to its parameters, so that it cannot run a second time",
                    field=self._name,
                    expected="write to them before or after the step, or make them buffers",
                )
            return output

    def run_checked(self, stage_input: Tensor) -> Tensor:
        """Return the output, of which a schedule can make a checkpoint.

        Raises
        ------
        InputError
            If it is no dense tensor, or the stage writes into its input.
        """
        version = stage_input._version
        output: object = self.run(stage_input)
        if not isinstance(output, Tensor):
            raise InputError(
                f"the stage returns a {type(output).__name__}, not a tensor",
                field=self._name,
                expected="wrap it in a module that returns one tensor",
            )
        if output.layout != torch.strided:
            raise InputError(
                f"the stage returns a tensor of layout {output.layout}",
                field=self._name,
                expected="return a dense tensor",
            )
        if stage_input._version != version:
            raise InputError(
                "the stage modifies its input in place, so that its input cannot be a checkpoint",
                field=self._name,
                expected="set inplace=False, or merge the stage with the one before it",
            )
        return output

    @property
    def _module(self) -> nn.Module | None:
        return self._call if isinstance(self._call, nn.Module) else None

    def _look(self, tensors: Iterable[Tensor]) -> _Found:
        devices = {tensor.device for tensor in tensors if tensor.device.type == "cuda"}
        # One copy of each storage, also where several buffers share it.
        copies: dict[int, torch.UntypedStorage] = {}
        return _Found(
            generators=self._log.now(devices),
            buffers=tuple(
                (owner, name, _on_copy(buffer.detach(), copies))
                for owner in (() if self._module is None else self._module.modules())
                for name, buffer in owner._buffers.items()
                if buffer is not None
            ),
        )


def _on_copy(tensor: Tensor, copies: dict[int, torch.UntypedStorage]) -> Tensor:
    """Return the tensor on a copy of its storage, which is made at its first use."""
    storage = tensor.untyped_storage()
    address = storage.data_ptr()
    if address not in copies:
        copies[address] = storage.clone()
    return Place.of(tensor).on(copies[address])


@contextmanager
def _generators_at(found: _Generators) -> Iterator[None]:
    now = _Generators.now(device for device, _ in found.cuda)
    found.put_back()
    try:
        yield
    finally:
        now.put_back()


@contextmanager
def _copied_buffers(buffers: Iterable[tuple[nn.Module, str, Tensor]]) -> Iterator[None]:
    current = [owner._buffers[name] for owner, name, _ in buffers]
    copies: dict[int, torch.UntypedStorage] = {}
    try:
        for owner, name, content in buffers:
            owner._buffers[name] = _on_copy(content, copies)
        yield
    finally:
        for (owner, name, _), buffer in zip(buffers, current, strict=True):
            owner._buffers[name] = buffer
