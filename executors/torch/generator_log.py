"""States of the global random number generators that the stages of a step find."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class GeneratorStates:
    """States of the generators of PyTorch, Python and NumPy; None for those left as they are."""

    cpu: Tensor | None
    cuda: tuple[tuple[torch.device, Tensor], ...]
    python: Any
    numpy: NumpyState | None

    @classmethod
    def now(
        cls, devices: Iterable[torch.device], earlier: GeneratorStates | None = None
    ) -> GeneratorStates:
        """Return the present states, with the memory of earlier ones where they are the same."""
        cpu: Tensor = torch.default_generator.get_state()
        python = random.getstate()
        cuda = tuple((device, _cuda_generator(device).get_state()) for device in devices)
        if earlier is None:
            return cls(cpu, cuda, python, NumpyState.now(None))
        numpy = NumpyState.now(earlier.numpy)
        if earlier.cpu is not None and _are_equal(cpu, earlier.cpu):
            cpu = earlier.cpu
        if len(cuda) == len(earlier.cuda) and all(
            device == other and _are_equal(state, held)
            for (device, state), (other, held) in zip(cuda, earlier.cuda, strict=True)
        ):
            cuda = earlier.cuda
        if python == earlier.python:
            python = earlier.python
        if (
            cpu is earlier.cpu
            and cuda is earlier.cuda
            and python is earlier.python
            and numpy is earlier.numpy
        ):
            return earlier
        return cls(cpu, cuda, python, numpy)

    def that_differ(self, later: GeneratorStates) -> GeneratorStates | None:
        """Return the states that are others later; None if all are the same.

        Those of `later` must have been found beside these.
        """
        if later is self:
            return None
        return GeneratorStates(
            cpu=None if later.cpu is self.cpu else self.cpu,
            cuda=() if later.cuda is self.cuda else self.cuda,
            python=None if later.python is self.python else self.python,
            numpy=None if later.numpy is self.numpy else self.numpy,
        )

    def exchanged(self) -> GeneratorStates:
        """Put these states back; return those that were there, of the same generators."""
        now = GeneratorStates(
            cpu=None if self.cpu is None else torch.default_generator.get_state(),
            cuda=tuple((device, _cuda_generator(device).get_state()) for device, _ in self.cuda),
            python=None if self.python is None else random.getstate(),
            numpy=None if self.numpy is None else NumpyState.now(None),
        )
        self.put_back()
        return now

    def put_back(self) -> None:
        """Set the generators to these states."""
        if self.cpu is not None:
            torch.default_generator.set_state(self.cpu)
        for device, state in self.cuda:
            _cuda_generator(device).set_state(state)
        if self.python is not None:
            random.setstate(self.python)
        if self.numpy is not None:
            np.random.set_state(self.numpy.state)  # noqa: NPY002


@dataclass(frozen=True, slots=True)
class NumpyState:
    """State of NumPy's global generator.

    ``np.random.get_state`` takes a tenth of a millisecond, as it converts the 624 words one by one.
    Whether the state has changed can be seen in the memory of the generator.

    Attributes
    ----------
    state
        What ``np.random.set_state`` takes.
    content
        The memory of the generator in this state; None if that does not tell all.
    """

    state: Any
    content: bytes | None

    @classmethod
    def now(cls, earlier: NumpyState | None) -> NumpyState:
        """Return the present state: `earlier` itself, if nothing has changed since."""
        content = _numpy_content()
        if earlier is not None and content is not None and content == earlier.content:
            return earlier
        state: Any = np.random.get_state()  # noqa: NPY002
        name, words, position, has_normal, _ = state
        # A normal number that is kept for the next draw is not in the memory of the generator, and
        # taking it changes nothing there. And the memory must be laid out as it is read here.
        is_told = name == "MT19937" and not has_normal
        expected = words.tobytes() + int(position).to_bytes(4, "little") if is_told else None
        return cls(state, content if content == expected else None)


def _numpy_content() -> bytes | None:
    # The stubs of NumPy do not have it in this module.
    generator = np.random.mtrand.get_bit_generator()
    if type(generator) is not np.random.MT19937:
        return None
    # 624 words, and the position of the next.
    return ctypes.string_at(generator.ctypes.state_address, 4 * 625)


def _cuda_generator(device: torch.device) -> torch.Generator:
    index = torch.cuda.current_device() if device.index is None else device.index
    generator: torch.Generator = torch.cuda.default_generators[index]
    return generator


def _are_equal(state: Tensor, other: Tensor) -> bool:
    # Generators have their states on the CPU, as bytes.
    return memoryview(state.numpy()) == memoryview(other.numpy())


class Drawing(Protocol):
    """Stage that has to know what it has drawn."""

    def set_drawn_from(self, states: GeneratorStates | None) -> None:
        """Take the states that its first run has found and left as others; None if there are none.

        They are what a repeated run has to find.
        """


class GeneratorLog:
    """States of the generators that the stages of a step found, each read and held once.

    A state of the CPU's generator has 5 kB, reading that of Python takes longer than launching a
    kernel, and few stages draw numbers. What a stage has left is what the next one finds, so that
    one look between two stages is enough; and who has drawn nothing need not be put back.
    """

    def __init__(self) -> None:
        self._found: GeneratorStates | None = None
        self._running: Drawing | None = None

    def begin(self, stage: Drawing, devices: Iterable[torch.device]) -> None:
        """Look at the generators before the first run of a stage that will run again."""
        self._found = self._look(devices)
        self._running = stage

    def settle(self) -> None:
        """Tell the last stage what it has drawn, before anything else runs."""
        if self._running is not None and self._found is not None:
            self._look([device for device, _ in self._found.cuda])
        self._found = None

    def forget(self) -> None:
        """Let go of a stage that has failed."""
        self._found = self._running = None

    def _look(self, devices: Iterable[torch.device]) -> GeneratorStates:
        found, stage = self._found, self._running
        self._running = None
        of_stage = () if found is None else [device for device, _ in found.cuda]
        devices = list(dict.fromkeys([*of_stage, *devices]))
        now = GeneratorStates.now(devices, found)
        if found is not None and stage is not None:
            stage.set_drawn_from(found.that_differ(now))
        return now
