"""Problem of KIWI: sharding and recomputation together, within the memory of each device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory, Share, amount_or_share, bytes_of
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


@dataclass(frozen=True)
class RematSharding:
    """Choose how each operator of `instance` is sharded and which are computed again.

    Attributes
    ----------
    instance
        The sharded graph.
    memory
        Of one device: bytes (``4 * 2**30``, ``"4GiB"``), or a share (``"60%"``) of the peak of
        the fastest plan without a limit that the graph names in `fastest`, which computes each
        operator once, in the order of the graph, and frees early. Of a `Card` nothing is taken off
        but what is said to be resident: parameters are operators of the graph.

    Raises
    ------
    InputError
        If `instance` is not a sharded graph, `memory` cannot be read or is a ratio alpha, or it is
        a share and the graph does not name its fastest plan.
    """

    problem = "remat-sharding"
    # Nothing leaves the device.
    link = None

    instance: ShardedGraph
    memory: str | int | Memory

    def __post_init__(self) -> None:
        if not isinstance(self.instance, ShardedGraph):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="remat-sharding needs a sharded graph",
            )
        memory = amount_or_share(
            self.memory,
            self._fastest_peak_bytes,
            "write an amount (4GiB) or a share of the fastest plan's peak (60%)",
            Resident.all_planned,
        )
        if isinstance(memory, Share) and not self.instance.fastest:
            raise InputError(
                f"{memory} of the fastest plan's peak, and {self.instance.name} does not name it",
                field="memory",
                expected="write an amount (4GiB), or name the plan's strategies in `fastest`",
            )
        object.__setattr__(self, "memory", memory)

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again and nothing waited for."""
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares round down."""
        return bytes_of(self.memory, self._fastest_peak_bytes)

    def _fastest_peak_bytes(self) -> int:
        """Return the no-saving peak of the fastest plan, or 0 where the graph does not name it."""
        if not self.instance.fastest:
            return 0
        return with_strategies(self.instance, self.instance.fastest).store_all_peak_bytes
