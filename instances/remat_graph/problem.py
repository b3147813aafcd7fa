"""Problem of Checkmate: recomputation on a graph, within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory, amount_or_share, bytes_of
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True)
class RematGraph:
    """Compute every node of `instance` within `memory` in the least time, by recomputing.

    Attributes
    ----------
    instance
        The graph.
    memory
        Bytes (``4 * 2**30``, ``"4GiB"``), a share (``"60%"``) of the peak without recomputation in
        the graph's own order, or a `Card`, off which the resident bytes of the graph are taken.

    Raises
    ------
    InputError
        If `instance` is not a graph, or `memory` cannot be read or is a ratio alpha.
    """

    problem = "remat-graph"
    # Nothing leaves the device.
    link = None

    instance: Graph
    memory: str | int | Memory

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Graph):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="remat-graph needs a graph; turn a chain into one with chain_to_graph",
            )
        memory = amount_or_share(
            self.memory,
            lambda: self.instance.store_all_peak_bytes,
            "write an amount (4GiB) or a share of the no-recomputation peak (60%)",
            lambda: Resident.recorded(self.instance.resident_bytes),
        )
        object.__setattr__(self, "memory", memory)

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again and nothing waited for."""
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares round down."""
        return bytes_of(self.memory, lambda: self.instance.store_all_peak_bytes)
