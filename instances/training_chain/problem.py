"""Problem of one budget: a chain is trained within a memory that holds all of its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, parse_link
from jettison.instances.core.memory import Alpha, Amount, Memory, bytes_of, parse_memory
from jettison.instances.remat_chain.chain import Chain


@dataclass(frozen=True)
class TrainingChain:
    r"""Repeat the training step of `instance` within `memory` in the least time per step.

    Everything that a step has is in one memory: activations, which may be computed again, moved to
    the host or dropped; weights and optimizer states, which may be on the host while nothing uses
    them; and gradients of weights. Each stage with weights is updated once per step, on the device,
    where its weights, gradients and states are needed, or by the host, which then has the states
    for ever: the gradient moves to the host and the changed weights come back. Each direction of
    the link carries one transfer at a time; a tensor moves as a whole and takes its memory on the
    device from the start of a transfer to the device, and to the end of one to the host.

    Attributes
    ----------
    instance
        The chain. Times of updates, gradients and states are fields of its stages.
    memory
        Bytes, a share of the peak of keeping everything on the device (``"60%"``), or a `Card`, off
        which nothing is taken but what is said to be resident.
    bandwidth
        The link, as `parse_link` reads it.
    host_memory
        Bytes that the host has for tensors; None for no limit.

    Raises
    ------
    InputError
        If `instance` is not a chain, or one of the others cannot be read.
    """

    problem = "training-chain"

    instance: Chain
    memory: str | int | Memory
    bandwidth: str | int | Link
    host_memory: str | int | Memory | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Chain):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="training-chain needs a chain",
            )
        object.__setattr__(
            self,
            "memory",
            parse_memory(self.memory, lambda: self.keep_all_peak_bytes, Resident.all_planned),
        )
        if isinstance(self.memory, Alpha):
            raise InputError(
                f"{self.memory} is a ratio between two ways to recompute",
                field="memory",
                expected="write an amount (96GiB) or a share of the peak that keeps all (60%)",
            )
        object.__setattr__(self, "bandwidth", parse_link(self.bandwidth))
        if self.host_memory is not None:
            object.__setattr__(self, "host_memory", _host_memory(self.host_memory))

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares round down."""
        return bytes_of(self.memory, lambda: self.keep_all_peak_bytes)

    @cached_property
    def host_memory_bytes(self) -> int | None:
        """The limit of the host in bytes, if there is one."""
        return self.host_memory.size_bytes if isinstance(self.host_memory, Amount) else None

    @cached_property
    def link(self) -> Link:
        """The link to the host."""
        return parse_link(self.bandwidth)

    @cached_property
    def base_time_ns(self) -> int:
        r"""Time :math:`\sum u_f + u_b` and of updates that only the device can do.

        No schedule takes less: an update that the host can do need not take time of the device.
        """
        return self.instance.base_time_ns + sum(
            stage.update_ns for stage in self.instance if not stage.host_can_update
        )

    @cached_property
    def keep_all_peak_bytes(self) -> int:
        r"""Peak of the step that keeps all on the device and updates each stage at once; O(N)."""
        chain = self.instance
        resident = sum(stage.weight_bytes + stage.optimizer_state_bytes for stage in chain)
        saved = peak = chain.input_bytes
        for stage in chain:
            saved += stage.saved_bytes
            peak = max(peak, saved + stage.overhead_of_saving_bytes)
        for number in range(len(chain), 0, -1):
            stage = chain.stage(number)
            running = (
                saved
                + stage.gradient_bytes
                + chain.backward_output_bytes(number)
                + stage.backward_overhead_bytes
            )
            saved -= stage.saved_bytes
            left = saved + (chain.gradient_bytes(number - 1) if number > 1 else 0)
            peak = max(peak, max(running, left) + stage.gradient_of_weights_bytes)
        return resident + peak


def _host_memory(given: str | int | Memory) -> Amount:
    """Read an amount of host memory, to which a share or a ratio means nothing.

    Raises
    ------
    InputError
        If it cannot be read, or is not an amount.
    """
    try:
        found = parse_memory(given)
    except InputError as refused:
        raise InputError(
            str(given), field="host_memory", expected="write an amount (256GiB)"
        ) from refused
    if not isinstance(found, Amount):
        raise InputError(f"{given}", field="host_memory", expected="write an amount (256GiB)")
    return found
