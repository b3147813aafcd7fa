"""State of a generator of random numbers, which an operation that runs again begins with."""

from __future__ import annotations

import torch


class GeneratorState:
    """State of the global generator of a device.

    On a GPU it is two numbers that the host knows, the seed and how much was drawn: they are read
    and set without waiting for the device, and without a tensor.
    """

    def __init__(self, device: torch.device) -> None:
        self._generator = _generator(device)
        self._numbers = self._content = None
        if device.type == "cuda":
            self._numbers = (self._generator.initial_seed(), self._generator.get_offset())
        else:
            self._content = self._generator.get_state()

    def put_back(self) -> None:
        """Let the generator continue from this state."""
        if self._numbers is None:
            self._generator.set_state(self._content)
            return
        seed, offset = self._numbers
        if self._generator.initial_seed() != seed:
            self._generator.manual_seed(seed)
        self._generator.set_offset(offset)


def _generator(device: torch.device) -> torch.Generator:
    if device.type != "cuda":
        return torch.default_generator
    place = torch.cuda.current_device() if device.index is None else device.index
    return torch.cuda.default_generators[place]
