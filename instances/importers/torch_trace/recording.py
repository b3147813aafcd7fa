"""Recording of a training step: its operators with their times and what they need to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.importers.torch_trace.execution_trace import (
    BACKWARD,
    Call,
    read_execution_trace,
)
from jettison.instances.importers.torch_trace.joined_calls import join_calls
from jettison.instances.importers.torch_trace.kineto_trace import (
    KinetoTrace,
    TimedCall,
    read_kineto_trace,
)
from jettison.instances.importers.torch_trace.one_step import calls_of_step
from jettison.instances.importers.torch_trace.recorded_operators import (
    Operator,
    RecordedStep,
    Value,
    recorded_step,
)
from jettison.instances.importers.torch_trace.released_memory import ReleasedMemory


@dataclass(frozen=True, slots=True)
class Recording:
    """Step that was recorded twice: what was called (`step`), and when (`kineto`, `timed`).

    `forward_of` is, for each sequence number, the last call that has it outside of the backward
    pass: the forward operator that autograd differentiates.
    """

    step: RecordedStep
    kineto: KinetoTrace
    timed: Mapping[int, TimedCall]
    forward_of: Mapping[int, int]
    elsewhere_ns: int

    @property
    def operators(self) -> list[Operator]:
        """Operators that make something on the device, or take time there, in order."""
        return [
            operator
            for operator in self.step.operators
            if any(map(self.counts, operator.results))
            or (self.kineto.uses_device and self.duration_ns(operator) > 0)
        ]

    @property
    def backward_from(self) -> int:
        """Number of the last forward operator that is differentiated: what follows is backward."""
        differentiated = {operator.backward_of for operator in self.step.operators}
        return max(
            (call for number, call in self.forward_of.items() if number in differentiated),
            default=0,
        )

    def size_bytes(self, value: Value) -> int:
        """Return the memory that a value adds: none if it is on the host, or was there before."""
        return 0 if value.is_resident or not self.counts(value) else value.size_bytes

    @property
    def resident_bytes(self) -> int:
        """Bytes that the step reads and that were there before it: parameters, the batch."""
        return sum(value.size_bytes for value in self.step.residents if self.counts(value))

    def counts(self, value: Value) -> bool:
        """Return whether a value is on the device that computes."""
        return not self.kineto.uses_device or value.device.startswith("cuda")

    def duration_ns(self, operator: Operator) -> int:
        """Return the time of an operator: of its kernels, or on the host if none ran at all."""
        return _duration_ns(operator.call, self.kineto, self.timed)

    def workspace_bytes(self, operator: Operator) -> int:
        """Return the memory that an operator needs beside its results while it runs."""
        results = sum(map(self.size_bytes, operator.results))
        if self.kineto.memory:
            peak = self.kineto.peak_bytes(self.timed[operator.call.number].span)
            return max(0, peak - results)
        return sum(map(self.size_bytes, operator.scratch))


def read_recording_of_step(
    kineto_trace: Path, execution_trace: Path, step: int | None
) -> Recording:
    """Read the two traces of a step.

    Raises
    ------
    InputError
        If a file cannot be read or is refused, or the traces do not belong together; the message
        names the file.
    """
    trace = read_execution_trace(execution_trace)
    kineto = read_kineto_trace(kineto_trace)
    try:
        timed = join_calls(trace, kineto)
        calls = calls_of_step(trace, step)
    except InputError as error:
        raise error.within(source=str(execution_trace)) from None
    released = ReleasedMemory(kineto.memory, timed)
    found = recorded_step(calls, _functions_with_kernels(calls, timed), released)
    all_ns = sum(_duration_ns(call, kineto, timed) for call in calls)
    counted_ns = sum(_duration_ns(operator.call, kineto, timed) for operator in found.operators)
    return Recording(found, kineto, timed, _forward_of(calls), all_ns - counted_ns)


def _functions_with_kernels(
    calls: tuple[Call, ...], timed: Mapping[int, TimedCall]
) -> frozenset[int]:
    """Return the functions of autograd that start kernels themselves, outside of operators."""
    return frozenset(
        function.number
        for outer in calls
        for call in outer.walk()
        if call.is_backward
        for function in call.calls
        if call.name.removeprefix(BACKWARD) == function.name and timed[function.number].device_ns
    )


def _forward_of(calls: tuple[Call, ...]) -> dict[int, int]:
    found: dict[int, int] = {}
    waiting = list(reversed(calls))
    while waiting:
        call = waiting.pop()
        if call.is_backward:
            continue
        if call.sequence >= 0:
            found[call.sequence] = max(call.number, found.get(call.sequence, 0))
        waiting += reversed(call.calls)
    return found


def _duration_ns(call: Call, kineto: KinetoTrace, timed: Mapping[int, TimedCall]) -> int:
    if not kineto.uses_device:
        span = timed[call.number].span
        return span.end_ns - span.start_ns
    return sum(timed[inner.number].device_ns for inner in call.walk())
