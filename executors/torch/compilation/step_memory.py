"""Peak of one real step of a compiled graph: everything that it allocates, measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter
from jettison.instances.profilers.device.memory_cuda import CudaMemoryMeter

CompiledGraph = Callable[..., Any]


def measured_peak_bytes(
    compiled: CompiledGraph, arguments: Sequence[Any], *, reserved: bool = False
) -> int | None:
    """Return the peak of one step above what is there before it.

    The step runs forward, and backward from a gradient of ones for each output. Its outputs, these
    gradients and those of parameters and inputs are all in memory at the end and counted; the
    arguments are not. Nothing of it stays: the step runs on copies of buffers and inputs, writes to
    no ``grad``, and the generators of random numbers are set back. It runs twice, since kernels and
    backward graphs are made at the first call.

    Parameters
    ----------
    compiled
        Called with the arguments.
    arguments
        Those of a call of the model: parameters, buffers and inputs.
    reserved
        On CUDA, count all that the allocator holds of the card at the peak, and not only what it
        has handed out. What is there before the step is not counted.

    Returns
    -------
    int | None
        None for a device whose allocations cannot be seen.
    """
    tensors = [item for item in arguments if isinstance(item, Tensor)]
    device = next((item.device for item in tensors), torch.device("cpu"))
    if device.type not in {"cpu", "cuda"}:
        return None
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.enable_grad():
        given = [_own(item) for item in arguments]
        _run(compiled, given)
        if device.type == "cuda":
            # What earlier steps left reserved is none of this one.
            torch.cuda.empty_cache()
        meter = CudaMemoryMeter(device) if device.type == "cuda" else CpuMemoryMeter()
        with meter, meter.window() as window:
            made = _run(compiled, given)
            del made
    if reserved and window.reserved_bytes is not None:
        return window.reserved_bytes - window.start_bytes
    return window.rise_bytes


def _own(argument: Any) -> Any:
    """Return an argument that a step may write to: a parameter is not written to."""
    if not isinstance(argument, Tensor) or isinstance(argument, nn.Parameter):
        return argument
    return argument.detach().clone().requires_grad_(argument.requires_grad)


def _run(compiled: CompiledGraph, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Run a step; return its outputs and gradients, which are all in memory then."""
    found = compiled(*arguments)
    outputs = found if isinstance(found, tuple | list) else (found,)
    trained = [item for item in arguments if isinstance(item, Tensor) and item.requires_grad]
    wanted = [item for item in outputs if isinstance(item, Tensor) and item.requires_grad]
    if not wanted:
        return tuple(outputs)
    gradients = torch.autograd.grad(
        wanted, trained, [torch.ones_like(item) for item in wanted], allow_unused=True
    )
    return (*outputs, *gradients)
