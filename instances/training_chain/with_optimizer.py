"""Chains with the optimizer of their training added, which profiles of layers do not have.

Gradients are as large as the weights. States and durations of updates are in proportion to the
weights of a stage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain

_NS_PER_S = 10**9


@dataclass(frozen=True)
class Optimizer:
    """Optimizer of a chain, per byte of its weights and per second.

    Attributes
    ----------
    states_per_weight
        Bytes of optimizer states for each byte of weights: 2 for Adam with all in single precision.
    device_bytes_per_s
        Bytes of weights that the device updates in a second; None for updates that take no time.
    host_bytes_per_s
        The same for the host; None where the host cannot update.

    Raises
    ------
    InputError
        If a number is negative, or a rate is 0.
    """

    states_per_weight: int = 2
    device_bytes_per_s: int | None = None
    host_bytes_per_s: int | None = None

    def __post_init__(self) -> None:
        for field, least in (
            ("states_per_weight", 0),
            ("device_bytes_per_s", 1),
            ("host_bytes_per_s", 1),
        ):
            amount = getattr(self, field)
            if amount is not None and amount < least:
                raise InputError(
                    f"{amount}", field=field, expected=f"write a whole number of at least {least}"
                )


def with_optimizer(chain: Chain, optimizer: Optimizer) -> Chain:
    """Return a chain whose stages with weights have states and updates; durations round up."""

    def duration_ns(size_bytes: int, bytes_per_s: int) -> int:
        return -(-size_bytes * _NS_PER_S // bytes_per_s)

    stages = []
    for stage in chain:
        size_bytes = stage.weight_bytes
        device, host = optimizer.device_bytes_per_s, optimizer.host_bytes_per_s
        changed = replace(
            stage,
            optimizer_state_bytes=optimizer.states_per_weight * size_bytes,
            update_ns=0 if device is None else duration_ns(size_bytes, device),
            host_update_ns=duration_ns(size_bytes, host) if size_bytes and host else None,
        )
        stages.append(changed)
    return replace(chain, stages=tuple(stages))
