"""Verdict of the replay of a training schedule, with memory by kind of tensor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jettison.schedules.core.replay import Phase, Replay, Step


class MemoryKind(StrEnum):
    """Kinds of what is in the device's memory.

    ``working`` is the memory overhead of the running operation.
    """

    WEIGHTS = "weights"
    STATES = "optimizer states"
    GRADIENTS = "gradients of weights"
    ACTIVATIONS = "activations"
    ACTIVATION_GRADIENTS = "gradients of activations"
    WORKING = "working"


_PHASES = {"F": Phase.FORWARD, "F_all": Phase.FORWARD, "B": Phase.BACKWARD}


@dataclass(frozen=True)
class TrainingVerdict(Replay):
    """Replay of a training schedule.

    Attributes
    ----------
    host_peak_bytes
        Largest memory in use on the host.
    kinds_profile
        (time, bytes in use of each `MemoryKind` from then on), ascending, over one period.
    """

    host_peak_bytes: int = 0
    kinds_profile: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def lane_of(self, step: Step) -> str | None:
        """Return the processor of an operation."""
        return "host" if step.operation.startswith("H ") else "device"
