"""Problem OFF(L, M, beta): weight offloading on a chain, within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, parse_link
from jettison.instances.core.memory import Alpha, Memory, bytes_of, parse_memory
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.weight_offload.cycle import WeightCycle


@dataclass(frozen=True)
class WeightOffload:
    """Repeat the training step of `instance` within `memory` in the least time per step.

    Weights may leave memory for the host, whose memory is unlimited, and come back before they are
    needed. Activations stay, and nothing is computed twice. Each direction of the link carries one
    transfer at a time, of the whole weights of a layer; on a link that both directions share, two
    transfers at once have half of its total each. Only the backward of a layer changes its
    weights: once a copy of the changed weights is on the host they can be deleted, and brought
    back, any number of times until the next backward (the *discount*).

    Attributes
    ----------
    instance
        The chain.
    memory
        Bytes, or a share of the peak of keeping all weights (``"60%"``). Weights, one gradient of
        weights at a time, and activations are all part of it; states of the optimizer are not, and
        of a `Card` they are taken off as resident bytes.
    bandwidth
        The link, as `parse_link` reads it: bytes per second of each direction, a text such as
        ``"12GB/s"`` or ``"12GB/s:half-duplex"``, or the name of a measured link.

    Raises
    ------
    InputError
        If `instance` is not a chain, or one of the others cannot be read.
    """

    problem = "weight-offload"

    instance: Chain
    memory: str | int | Memory
    bandwidth: str | int | Link

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Chain):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="weight-offload needs a chain",
            )
        memory = parse_memory(
            self.memory,
            lambda: self.cycle.no_offload_peak_bytes,
            lambda: Resident.recorded(self.instance.resident_state_bytes),
        )
        object.__setattr__(self, "memory", memory)
        if isinstance(self.memory, Alpha):
            raise InputError(
                f"{self.memory} is a ratio between two ways to recompute",
                field="memory",
                expected="write an amount (12GiB) or a share of the peak with all weights (60%)",
            )
        object.__setattr__(self, "bandwidth", parse_link(self.bandwidth))

    @cached_property
    def cycle(self) -> WeightCycle:
        """The operations of the step as a cycle, with their memory."""
        return WeightCycle(self.instance)

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again and nothing waited for."""
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares round down."""
        return bytes_of(self.memory, lambda: self.cycle.no_offload_peak_bytes)

    @cached_property
    def link(self) -> Link:
        """The link to the host."""
        return parse_link(self.bandwidth)
