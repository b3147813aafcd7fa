"""Problem of POFO: recomputation and offloading on a chain, within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, Transfers, parse_link
from jettison.instances.core.memory import Memory, parse_memory
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import chain_memory_bytes


@dataclass(frozen=True)
class RematOffloadChain:
    """Run one training step of `instance` within `memory`, by recomputing and by offloading.

    Activations may be copied to the host, whose memory is unlimited, and brought back. Each
    direction of the link carries one transfer at a time; on a link that both directions share, two
    transfers at once have half of its total each.

    Attributes
    ----------
    instance
        The chain.
    memory
        As in `RematChain`: bytes, a share of the no-saving peak (``"60%"``), or POFO's ratio
        (``"alpha=0.2"``), or a `Card`.
    bandwidth
        The link, as `parse_link` reads it: bytes per second of each direction, a text such as
        ``"12GB/s"`` or ``"12GB/s:half-duplex"``, or the name of a measured link.
    transfers
        ``"at-once"``, which is what a device does, or ``"fluid"``, POFO's model.

    Raises
    ------
    InputError
        If `instance` is not a chain, or one of the others cannot be read.
    """

    problem = "remat-offload-chain"

    instance: Chain
    memory: str | int | Memory
    bandwidth: str | int | Link
    transfers: str | Transfers = Transfers.AT_ONCE

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Chain):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="remat-offload-chain needs a chain",
            )
        memory = parse_memory(
            self.memory,
            lambda: self.instance.store_all_peak_bytes,
            lambda: Resident.recorded(self.instance.resident_bytes),
        )
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "bandwidth", parse_link(self.bandwidth))
        if self.transfers not in list(Transfers):
            raise InputError(
                f"{self.transfers!r}",
                field="transfers",
                expected=f"choose one of {', '.join(Transfers)}",
            )
        object.__setattr__(self, "transfers", Transfers(self.transfers))

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again and nothing waited for."""
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares and ratios round down."""
        return chain_memory_bytes(self.instance, parse_memory(self.memory))

    @cached_property
    def link(self) -> Link:
        """The link to the host."""
        return parse_link(self.bandwidth)
