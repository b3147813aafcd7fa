"""Numbers of a step: what the replay predicts, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPrediction:
    """Predicted time and peaks of a step, by the replay.

    Attributes
    ----------
    time_ns
        Time of a step when steps follow one another.
    peak_bytes
        Memory of the device with all that is trained: weights, gradients, optimizer states,
        activations and the batch; without buffers.
    host_peak_bytes
        Memory of the host.
    bound_ns
        Lower bound of the time of all schedules, where the solver has said one; else the time of a
        step that computes nothing again and waits for nothing.
    """

    time_ns: int
    peak_bytes: int
    host_peak_bytes: int
    bound_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """Step that was measured.

    Attributes
    ----------
    loss
        The loss.
    measured
        Bytes of the device's memory at the peak, or nanoseconds.
    """

    loss: Tensor
    measured: int
