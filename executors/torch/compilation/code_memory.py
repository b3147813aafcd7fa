"""Memory of a step by the code that a compiler generated for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeMemory:
    """Memory of a step by its generated code.

    Attributes
    ----------
    peak_bytes
        The peak.
    forward, backward
        For each value of the plan, in order, the name of its operator, and how much is in memory
        while it is made.
    workspaces_bytes
        What calls of libraries take beside their results, by the names of their operators: the
        most of each.
    """

    peak_bytes: int
    forward: tuple[tuple[str, int], ...]
    backward: tuple[tuple[str, int], ...]
    workspaces_bytes: Mapping[str, int]
