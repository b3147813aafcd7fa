"""Events of a training schedule: computations, updates and moves of tensors, with start times."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TrainingEventKind(StrEnum):
    r"""Kinds of events that happen to a stage in a period.

    ``F``, ``F_all``
        Its forward operation starts, and makes its output :math:`a`, or all that is saved,
        :math:`\bar a`.
    ``B``
        Its backward operation starts.
    ``U``, ``H``
        Its update starts, on the device or on the host.
    ``offload``, ``prefetch``
        A tensor of it starts on its way to the host, or to the device.
    ``drop``
        A tensor of it leaves the device's memory.
    """

    FORWARD = "F"
    FORWARD_ALL = "F_all"
    BACKWARD = "B"
    UPDATE = "U"
    HOST_UPDATE = "H"
    OFFLOAD = "offload"
    PREFETCH = "prefetch"
    DROP = "drop"

    @property
    def is_computation(self) -> bool:
        """Whether it occupies a processor."""
        return not (self.is_transfer or self is TrainingEventKind.DROP)

    @property
    def is_transfer(self) -> bool:
        """Whether it occupies the link."""
        return self in {TrainingEventKind.OFFLOAD, TrainingEventKind.PREFETCH}

    @property
    def is_forward(self) -> bool:
        """Whether it is a forward operation."""
        return self in {TrainingEventKind.FORWARD, TrainingEventKind.FORWARD_ALL}

    @property
    def is_update(self) -> bool:
        """Whether it is an update."""
        return self in {TrainingEventKind.UPDATE, TrainingEventKind.HOST_UPDATE}


class StageTensor(StrEnum):
    r"""Tensors of a stage that can move.

    ``w``, ``s``, ``g``
        Its weights, its optimizer states, and the gradient of its weights.
    ``saved``, ``output``
        :math:`\bar a`, and :math:`a` where it was computed by itself.
    """

    WEIGHTS = "w"
    STATES = "s"
    GRADIENT = "g"
    SAVED = "saved"
    OUTPUT = "output"

    @property
    def is_activation(self) -> bool:
        """Whether it can be computed again."""
        return self in {StageTensor.SAVED, StageTensor.OUTPUT}


@dataclass(frozen=True, slots=True)
class TrainingEvent:
    """Event of a training schedule, which starts at the same time of every period.

    Attributes
    ----------
    kind
        Kind of the event.
    stage
        Number of the stage, from 1.
    start_ns
        Start time, from the start of the period.
    tensor
        What moves or is dropped; None for computations.
    """

    kind: TrainingEventKind
    stage: int
    start_ns: int
    tensor: StageTensor | None = None

    def __str__(self) -> str:
        what = "" if self.tensor is None else f"{self.tensor} "
        return f"{self.kind} {what}{self.stage}"
