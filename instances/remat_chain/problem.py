"""Problem of rotor: recomputation on a chain, within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Card, Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Alpha, Amount, Memory, Share, parse_memory
from jettison.instances.remat_chain.chain import Chain


@dataclass(frozen=True)
class RematChain:
    """Run one training step of `instance` within `memory` in the least time, by recomputing.

    Attributes
    ----------
    instance
        The chain.
    memory
        Bytes (``4 * 2**30``, ``"4GiB"``), a share of the no-saving peak (``"60%"``), or POFO's
        ratio (``"alpha=0.2"``). Parameters and their gradients are not part of it: of a `Card` they
        are taken off as resident bytes.

    Raises
    ------
    InputError
        If `instance` is not a chain, or `memory` cannot be read.
    """

    problem = "remat-chain"
    # Nothing leaves the device.
    link = None

    instance: Chain
    memory: str | int | Memory

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Chain):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="remat-chain needs a chain; for a graph use remat-graph",
            )
        memory = parse_memory(
            self.memory,
            lambda: self.instance.store_all_peak_bytes,
            lambda: Resident.recorded(self.instance.resident_bytes),
        )
        object.__setattr__(self, "memory", memory)

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again and nothing waited for."""
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares and ratios round down."""
        return chain_memory_bytes(self.instance, parse_memory(self.memory))


def chain_memory_bytes(chain: Chain, memory: Memory) -> int:
    """Return a memory limit in bytes; shares and ratios of the chain's peaks round down."""
    match memory:
        case Amount(size_bytes):
            return size_bytes
        case Share(of_peak):
            return int(of_peak * chain.store_all_peak_bytes)
        case Alpha(alpha):
            low, high = chain.recompute_all_peak_bytes, chain.store_all_peak_bytes
            return int((1 - alpha) * low + alpha * high)
        case Card():
            return memory.limit_bytes
