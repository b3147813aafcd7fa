"""Entries of the table: names, where their functions are, and blocks that people checkpoint."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.real_models.catalogue import language_models, spec_models, vision_models

_FILES = (spec_models, vision_models, language_models)


@dataclass(frozen=True, slots=True)
class Entry:
    """Model of the table.

    Attributes
    ----------
    name
        Name of its function.
    target
        What `jettison profile` takes: ``module:function``.
    blocks
        Names of the classes of its blocks.
    """

    name: str
    target: str
    blocks: tuple[str, ...]

    def build(self) -> tuple[Any, ...]:
        """Return what the function returns: model, input, and a loss if there is one."""
        module, _, name = self.target.partition(":")
        function: Callable[[], tuple[Any, ...]] = getattr(importlib.import_module(module), name)
        return function()


ENTRIES = {
    name: Entry(name, f"{file.__name__}:{name}", blocks)
    for file in _FILES
    for name, blocks in file.BLOCKS.items()
}
