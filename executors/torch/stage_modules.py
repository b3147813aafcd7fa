"""Modules of one stage, which a step looks through once."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from torch import Tensor, nn

_REQUIRES_GRADIENT = attrgetter("requires_grad")


def parts_of(modules: Iterable[nn.Module]) -> list[nn.Module]:
    """Return modules with all modules inside of them, each once.

    ``modules()`` of PyTorch finds the same ones through a generator for each module, which takes
    longer than all the rest of what a step has to look at.
    """
    level = list(dict.fromkeys(modules))
    seen = set(level)
    parts = list(level)
    while level:
        inside = [child for part in level if part._modules for child in part._modules.values()]
        level = [child for child in dict.fromkeys(inside) if child is not None]
        level = [child for child in level if child not in seen]
        seen.update(level)
        parts += level
    return parts


def parameters_of(parts: Iterable[nn.Module]) -> list[Tensor]:
    """Return the parameters of modules, without those of modules inside of them."""
    return [
        parameter
        for part in parts
        if part._parameters
        for parameter in part._parameters.values()
        if parameter is not None
    ]


class StageModules:
    """Modules and parameters of one stage at the beginning of a step.

    Parameters
    ----------
    call
        The stage: a module, or a function that has none.

    Attributes
    ----------
    parts
        All modules, each once.
    parameters
        Their parameters.
    """

    __slots__ = ("parameters", "parts")

    def __init__(self, call: object) -> None:
        self.parts = parts_of([call]) if isinstance(call, nn.Module) else []
        self.parameters = parameters_of(self.parts)

    @property
    def is_trained(self) -> bool:
        """Whether some parameter is trained."""
        return any(map(_REQUIRES_GRADIENT, self.parameters))

    def buffers(self) -> list[tuple[nn.Module, str, Tensor]]:
        """Return the present buffers, each with its module and its name there."""
        return [
            (part, name, buffer)
            for part in self.parts
            if part._buffers
            for name, buffer in part._buffers.items()
            if buffer is not None
        ]
