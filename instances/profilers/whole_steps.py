"""Durations of whole training steps, to compare what is added up of operators with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from jettison.instances.profilers.device.threads import threads_set
from jettison.instances.profilers.device.timing import LaunchTimer, Spread, counted

_STEPS = 3
_MEMORY = Path("/proc/meminfo")


def whole_steps_ns(
    loss: Callable[[], Tensor],
    parameters: Sequence[Tensor],
    device: torch.device,
    *,
    peak_bytes: int,
    threads: int,
) -> Spread | None:
    """Measure steps after one of warm-up; None where the memory may not be enough for one.

    Gradients are computed and dropped: nothing accumulates, and hooks of parameters that wait for
    that do not run.

    Parameters
    ----------
    loss
        Runs the model forward and returns its loss, a scalar.
    parameters
        What the gradients are computed of; those that the loss does not depend on have none.
    device
        Device of the step; a GPU must be the current one.
    peak_bytes
        What a step allocates. Twice as much has to be free.
    threads
        Threads that it computes with on a CPU.
    """
    free_bytes = _free_bytes(device)
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if free_bytes is None or 2 * peak_bytes > free_bytes or not trained:
        return None

    def step() -> None:
        torch.autograd.grad(loss(), trained, allow_unused=True)

    timer = LaunchTimer(device)
    with torch.enable_grad(), threads_set(threads):
        step()
        return counted([timer.total_ns([step]) for _ in range(_STEPS)])


def _free_bytes(device: torch.device) -> int | None:
    """Return how much memory a program may take; None if the system does not say."""
    if device.type == "cuda":
        free_bytes, _ = torch.cuda.mem_get_info(device)
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free_bytes) + int(held)
    if _MEMORY.is_file():
        for line in _MEMORY.read_text(encoding="utf-8").splitlines():
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                return int(amount.split()[0]) * 1024
    if "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", {}):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
