"""Problem of intra-operator parallelism: one strategy for each node, within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory, amount_or_share, bytes_of
from jettison.instances.sharding.strategy_graph import StrategyGraph

_EXPECTED = "write an amount (4GiB) or a share of the peak of the cheapest strategies (60%)"


@dataclass(frozen=True)
class Sharding:
    """Choose one strategy for every node of `instance` within `memory` at the least cost.

    Attributes
    ----------
    instance
        The graph.
    memory
        Bytes (``4 * 2**30``, ``"4GiB"``), or a share (``"60%"``) of the peak where every node takes
        its own cheapest strategy, whatever the edges cost. None for the limit that the instance
        comes with. Of a `Card` nothing is taken off but what is said to be resident: the usage of
        strategies includes what is there all the time.

    Raises
    ------
    InputError
        If `instance` is not a strategy graph, `memory` cannot be read or is a ratio alpha, or
        neither of the two says how much memory there is.
    """

    problem = "sharding"
    # Nothing leaves the device.
    link = None

    instance: StrategyGraph
    memory: str | int | Memory | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.instance, StrategyGraph):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="sharding needs a strategy graph; see jettison import iopddl",
            )
        if self.memory is None:
            if self.instance.usage_limit_bytes is None:
                raise InputError(
                    f"the amount is missing, and {self.instance.name} has no limit of its own",
                    field="memory",
                    expected=_EXPECTED,
                )
            return
        memory = amount_or_share(
            self.memory,
            lambda: self.instance.store_all_peak_bytes,
            _EXPECTED,
            Resident.all_planned,
        )
        object.__setattr__(self, "memory", memory)

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again and nothing waited for."""
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares round down."""
        if self.memory is not None:
            return bytes_of(self.memory, lambda: self.instance.store_all_peak_bytes)
        assert self.instance.usage_limit_bytes is not None
        return self.instance.usage_limit_bytes
