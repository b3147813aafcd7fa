"""Memory that single calls of operators take, their results included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter
from jettison.instances.profilers.device.memory_cuda import CudaMemoryMeter
from jettison.instances.profilers.device.memory_window import MemoryWindow
from jettison.instances.profilers.kernels.kernel_call import NoPlainDataError, PreparedCall
from jettison.instances.profilers.torch_graphs.storages import storage_address


@dataclass(frozen=True, slots=True)
class CallMemory:
    """Memory of one call of an operator.

    Attributes
    ----------
    rise_bytes
        The most that is allocated while it runs, above what was before: its results, and what it
        frees again before it returns.
    results_bytes
        Size of the storage of each of its results; 0 where it is none, or that of an argument or of
        a result before it.
    """

    rise_bytes: int
    results_bytes: tuple[int, ...]


class FailureKind(StrEnum):
    """Reason that a call has no measurement."""

    ERROR = "error"
    UNKNOWN = "unknown"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Call without a measurement.

    Attributes
    ----------
    kind
        ``error`` if it raised one, ``unknown`` if the operator is not registered in the process
        that was asked, ``crash`` if the process ended.
    message
        First line of the error, name of the operator, or how the process ended.
    """

    kind: FailureKind
    message: str


CallOutcome = CallMemory | CallFailure


def memory_of(
    prepare: Sequence[Callable[[], PreparedCall]],
    device: torch.device,
    announce: Callable[[int], None] = lambda number: None,
) -> list[CallOutcome]:
    """Run calls one after the other, each once, and return what each allocates.

    On a GPU each call runs once more before: libraries take a workspace for themselves at their
    first call, which stays, and is no part of any operation.

    Parameters
    ----------
    prepare
        For each call the function that makes its arguments.
    device
        Device on which they run; a GPU must be the current one.
    announce
        Called with the number of each call before it runs.
    """
    found: list[tuple[MemoryWindow, tuple[int, ...]] | CallFailure] = []
    meter = CudaMemoryMeter(device) if device.type == "cuda" else CpuMemoryMeter()
    # Arguments are made inside as well: a block from before the meter must not be freed there.
    with torch.no_grad(), meter:
        for number, prepare_one in enumerate(prepare):
            announce(number)
            call: PreparedCall | None = None
            results: Any = None
            try:
                call = prepare_one()
                if device.type == "cuda":
                    call.run()
                with meter.window() as window:
                    results = call.run()
                found.append((window, _new_storages(results, call)))
            except NoPlainDataError as error:
                found.append(CallFailure(FailureKind.UNKNOWN, str(error)))
            except (AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
                # Kernels are free in what they raise; memory that is too little is a RuntimeError.
                lines = str(error).strip().splitlines() or [type(error).__name__]
                found.append(CallFailure(FailureKind.ERROR, lines[0]))
    return [
        item if isinstance(item, CallFailure) else CallMemory(item[0].rise_bytes, item[1])
        for item in found
    ]


def _new_storages(results: Any, call: PreparedCall) -> tuple[int, ...]:
    seen = {storage_address(tensor.untyped_storage()) for tensor in call.tensors}
    found = []
    for item in results if isinstance(results, tuple | list) else (results,):
        address = storage_address(item.untyped_storage()) if isinstance(item, Tensor) else None
        is_new = address is not None and address not in seen
        found.append(int(item.untyped_storage().nbytes()) if is_new else 0)
        if address is not None:
            seen.add(address)
    return tuple(found)
