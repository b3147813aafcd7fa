"""Problem of a pipeline: a chain, devices with a memory each, and micro-batches in 1F1B order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from jettison.instances.core.card import Card, Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, parse_link
from jettison.instances.core.memory import Amount, Memory, bytes_of, parse_memory
from jettison.instances.core.units import checked_amount
from jettison.instances.remat_chain.chain import Chain

_EXPECTED = (
    "write an amount, the memory of each device (32GiB): there is no one peak to take a share of, "
    "since what a device holds follows from the cuts"
)
# More would not change what is planned; it bounds the replay, which runs each of them.
MOST_MICROBATCHES = 4096


@dataclass(frozen=True)
class PipelineChain:
    r"""Run one training step of `instance` on a pipeline of devices in the least time.

    The chain is cut into `devices` parts of consecutive stages. The step has `microbatches`
    micro-batches of the size for which the chain was measured, in the order 1F1B: device
    :math:`i` of :math:`p` runs :math:`K_i = \min(m, p-i+1)` forward phases, and from then on a
    backward phase and a forward phase in turn, so that at most :math:`K_i` micro-batches are in
    flight on it. Each device recomputes within its own memory, in the same way for every
    micro-batch.

    What a device holds all the time: `weight_copies` times the weights of its stages, and a buffer
    for what each neighbour sends it, the next input or the next gradient. A send blocks the sender
    until the buffer of the receiver is free, and for the time of the transfer.

    Attributes
    ----------
    instance
        The chain of one micro-batch.
    memory
        Memory of each device: bytes, an amount such as ``"32GiB"``, or a `Card`, off which nothing
        is taken but what is said to be resident.
    devices
        Number of devices :math:`p`, at most that of the stages.
    microbatches
        Number of micro-batches :math:`m` of a step.
    bandwidth
        Of the link between neighbours, each way, as `parse_link` reads it; None if sending takes
        no time.
    weight_copies
        Bytes that stay on a device for each byte of its weights: 2 are weights and gradients; of
        Adam in single precision 4, of Adam with weights in half precision 8.
    chunks
        Most parts of a device. Schedules have up to so many on every device, of consecutive stages
        each, the :math:`p` devices taking turns along the chain: one part runs in the order 1F1B,
        more in Megatron's interleaved 1F1B, which takes multiples of :math:`p` micro-batches.

    Raises
    ------
    InputError
        If `instance` is not a chain, or one of the others cannot be read or is out of range.
    """

    problem = "pipeline-chain"

    instance: Chain
    memory: str | int | Memory
    devices: int
    microbatches: int
    bandwidth: str | int | Link | None = None
    weight_copies: int = 2
    chunks: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Chain):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="pipeline-chain needs a chain",
            )
        memory = parse_memory(self.memory, resident=Resident.all_planned)
        if not isinstance(memory, Amount | Card):
            raise InputError(f"{memory} of a pipeline", field="memory", expected=_EXPECTED)
        object.__setattr__(self, "memory", memory)
        _check_count(self.devices, "devices", len(self.instance), "one for each stage at most")
        _check_count(self.microbatches, "microbatches", MOST_MICROBATCHES)
        checked_amount(self.weight_copies, "weight_copies", "copies")
        _check_count(self.chunks, "chunks", len(self.instance) // self.devices)
        if self.chunks > 1 and self.devices == 1:
            raise InputError(
                f"{self.chunks} of each device, and there is one device",
                field="chunks",
                expected="give 2 devices or more, or 1 chunk",
            )
        if self.chunks > 1 and self.microbatches % self.devices:
            raise InputError(
                f"{self.chunks} of each device need micro-batches in multiples of the "
                f"{self.devices} devices, and there are {self.microbatches}",
                field="chunks",
                expected="give "
                f"{-(-self.microbatches // self.devices) * self.devices} micro-batches, or 1 chunk",
            )
        if self.bandwidth is not None:
            object.__setattr__(self, "bandwidth", parse_link(self.bandwidth))

    @cached_property
    def memory_bytes(self) -> int:
        """The memory of each device in bytes."""
        return bytes_of(self.memory, lambda: 0)

    @cached_property
    def link(self) -> Link | None:
        """The link between neighbours; None where sending takes no time."""
        return None if self.bandwidth is None else parse_link(self.bandwidth)

    @cached_property
    def base_time_ns(self) -> int:
        r"""Lower bound for every schedule: :math:`m` times the least bottleneck of all cuts.

        The bottleneck is that of a pipeline without recomputation, in which sending takes no time.
        Devices of several parts can share the stages out as they like, for this bound.
        """
        return self.microbatches * self.least_bottleneck_ns

    @cached_property
    def least_bottleneck_ns(self) -> int:
        """Least time of the busiest device for a micro-batch, of all cuts, nothing recomputed.

        By bisection: first fit from the left decides a time in :math:`O(N)`.
        """
        times = [stage.forward_ns + stage.backward_ns for stage in self.instance]
        low, high = max(*times, -(-sum(times) // self.devices)), sum(times)
        if self.chunks > 1:
            return low
        while low < high:
            middle = (low + high) // 2
            if _parts_needed(times, middle) <= self.devices:
                high = middle
            else:
                low = middle + 1
        return low

    @cached_property
    def _weights_before(self) -> tuple[int, ...]:
        return tuple(accumulate((stage.weight_bytes for stage in self.instance), initial=0))

    def in_flight(self, device: int) -> int:
        """Return :math:`K_i`, the most micro-batches in flight on a device, counted from 1."""
        return min(self.microbatches, self.devices - device + 1)

    def resident_bytes(self, part: int, first: int, last: int, parts: int | None = None) -> int:
        """Return what a device holds all the time for a part with the stages `first` to `last`.

        The `part` is counted from 1 along the chain, of `parts`, by default one for each device.
        """
        weights = self._weights_before[last] - self._weights_before[first - 1]
        held = self.weight_copies * weights
        if part > 1:
            held += self.instance.activation_bytes(first - 1)
        if part < (parts or self.devices):
            held += self.instance.gradient_bytes(last)
        return held

    def send_forward_ns(self, part: int, last: int, parts: int | None = None) -> int:
        """Return the time in which a part sends the output of stage `last`; 0 for the loss."""
        if self.link is None or part == (parts or self.devices):
            return 0
        return self.link.transfer_ns(self.instance.activation_bytes(last))

    def send_backward_ns(self, part: int, first: int) -> int:
        """Return the time in which a part sends the gradient of the input of stage `first`."""
        if self.link is None or part == 1:
            return 0
        return self.link.transfer_ns(self.instance.gradient_bytes(first - 1))


def _check_count(count: object, field: str, most: int, why: str | None = None) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= most:
        reason = "" if why is None else f", {why}"
        raise InputError(f"{count!r}", field=field, expected=f"write 1 to {most}{reason}")


def _parts_needed(times: list[int], limit: int) -> int:
    parts, used = 1, 0
    for time in times:
        if used + time > limit:
            parts, used = parts + 1, 0
        used += time
    return parts
