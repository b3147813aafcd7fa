"""Problem of recomputation on a graph within an arena: one block of memory with addresses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.memory import Memory
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph


@dataclass(frozen=True)
class RematArena:
    """Compute every node of `instance` in the least time, with all buffers in an arena.

    The arena is one block of memory of `memory` bytes. Every value and every workspace is a buffer
    that has one place in it for as long as it lives, so that what is free may be in pieces that are
    too small. Whatever fits here fits in as much memory without addresses (`RematGraph`).

    Attributes
    ----------
    instance
        The graph.
    memory
        The bytes of the arena, as `RematGraph` takes them; a share is that of the peak without
        recomputation, in which what is free needs not be in one piece.

    Raises
    ------
    InputError
        If `instance` is not a graph, or `memory` cannot be read or is a ratio alpha.
    """

    problem = "remat-arena"
    # Nothing leaves the device.
    link = None

    instance: Graph
    memory: str | int | Memory

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory", RematGraph(self.instance, self.memory).memory)

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again."""
        return self.instance.base_time_ns

    @cached_property
    def without_addresses(self) -> RematGraph:
        """The problem in as much memory, in which only the sum of all buffers counts."""
        return RematGraph(self.instance, self.memory)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the arena; shares round down."""
        return self.without_addresses.memory_bytes
