"""Run a stage again exactly as it ran first: random numbers, buffers and autocast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jettison.instances.profilers.autocast_state import AutocastState

StageCall = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class _Found:
    """What a stage found when it ran first."""

    cpu_generator: Tensor
    cuda_generators: tuple[tuple[torch.device, Tensor], ...]
    buffers: tuple[tuple[nn.Module, str, Tensor], ...]


class StageRunner:
    """Runs one stage in one training step: the first time as it is, every other time the same.

    The first run draws random numbers and updates buffers as in a plain step. A repeated run finds
    the generators and the buffers as the first one did, and leaves no trace in either: it works on
    copies of the buffers, so that running statistics are updated once.

    Parameters
    ----------
    call
        The module, or the loss.
    autocast
        The state in which it runs.
    repeats
        Whether it will run more than once; what it finds is only kept if so.
    """

    def __init__(self, call: StageCall, autocast: AutocastState, *, repeats: bool) -> None:
        self._call = call
        self._autocast = autocast
        self._repeats = repeats
        self._found: _Found | None = None

    def run(self, stage_input: Tensor) -> Tensor:
        """Return the output; `stage_input` is as in every other run of this step."""
        with self._autocast.restored():
            if self._found is not None:
                with _generators_at(self._found), _copied_buffers(self._found):
                    return self._call(stage_input)
            if self._repeats:
                self._found = self._look(stage_input)
            return self._call(stage_input)

    def _look(self, stage_input: Tensor) -> _Found:
        module = self._call if isinstance(self._call, nn.Module) else None
        parameters = [] if module is None else list(module.parameters())
        devices = {
            tensor.device for tensor in (stage_input, *parameters) if tensor.device.type == "cuda"
        }
        # One copy for each buffer, also where several modules share it.
        copies: dict[int, Tensor] = {}
        return _Found(
            cpu_generator=torch.get_rng_state(),
            cuda_generators=tuple((device, torch.cuda.get_rng_state(device)) for device in devices),
            buffers=tuple(
                (owner, name, copies.setdefault(id(buffer), buffer.detach().clone()))
                for owner in (() if module is None else module.modules())
                for name, buffer in owner.named_buffers(recurse=False)
            ),
        )


@contextmanager
def _generators_at(found: _Found) -> Iterator[None]:
    with torch.random.fork_rng(devices=[device for device, _ in found.cuda_generators]):
        torch.set_rng_state(found.cpu_generator)
        for device, state in found.cuda_generators:
            torch.cuda.set_rng_state(state, device)
        yield


@contextmanager
def _copied_buffers(found: _Found) -> Iterator[None]:
    current = [owner._buffers[name] for owner, name, _ in found.buffers]
    copies: dict[int, Tensor] = {}
    try:
        for owner, name, content in found.buffers:
            owner._buffers[name] = copies.setdefault(id(content), content.clone())
        yield
    finally:
        for (owner, name, _), buffer in zip(found.buffers, current, strict=True):
            owner._buffers[name] = buffer
