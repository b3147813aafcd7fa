"""Duration of one operation on the device that runs it."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def duration_ns(operation: Callable[[], object], device: torch.device) -> int:
    """Run `operation` once and return how long the device was busy with it.

    On a GPU two events on the current stream enclose the operation: `device` must be the current
    CUDA device. Time in which the GPU waits for the next kernel to be launched counts. Elsewhere
    the wall clock is read; operations on a CPU are finished when they return.
    """
    if device.type == "cuda":
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize(device)
        start.record()
        operation()
        end.record()
        end.synchronize()
        milliseconds: float = start.elapsed_time(end)
        return round(milliseconds * 1e6)
    before = time.perf_counter_ns()
    operation()
    return time.perf_counter_ns() - before
