r"""Importer of recordings of PyTorch as chains, cut between modules.

A stage is what runs from one boundary of modules at which the step is a chain to the next
(`jettison.instances.importers.torch_trace.module_boundaries`); it is called after the largest
module within it, or else after the smallest that it is part of. What its backward operation reads
of what it made is saved. The overheads are what its operators need at most beyond that, each value
freed after its last use, with the workspaces, and values that are written in place counted once.
Gradients of parameters are counted in no overhead, and their sizes are those of the weights.

The input is what the first stage reads of what was there before the step, except for weights; small
buffers, such as those of batch normalisation, are among it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.importers.torch_trace.kineto_trace import Module
from jettison.instances.importers.torch_trace.module_boundaries import (
    Boundary,
    Passes,
    boundaries_of,
    modules_of,
    passes_of,
)
from jettison.instances.importers.torch_trace.provenance_of import provenance_of
from jettison.instances.importers.torch_trace.recorded_operators import Operator, Value
from jettison.instances.importers.torch_trace.recording import Recording, read_recording_of_step
from jettison.instances.importers.torch_trace.step_graph import name_of_recording
from jettison.instances.remat_chain.chain import Chain, Stage


class _Part(NamedTuple):
    """Operators of a stage, its output, the gradient of it, and that of the input, if any."""

    name: str
    forward: tuple[Operator, ...]
    backward: tuple[Operator, ...]
    output: Value | None
    gradient: Value | None
    passed: Value | None


def import_torch_trace_chain(
    kineto_trace: str | Path, *, execution_trace: str | Path, step: int | None = None
) -> Chain:
    """Read a recorded training step as a chain; :math:`O(m n)` for m modules, n recorded calls.

    Parameters
    ----------
    kineto_trace
        What the profiler exported, with the stacks of Python (``with_stack=True``).
    execution_trace
        What the observer of execution traces wrote, in the same run.
    step
        Number of the step among those marked by ``profiler.step()``, where there are several.

    Raises
    ------
    InputError
        As `import_torch_trace_graph`, and if no module is recorded, or the step is a chain at none
        of their boundaries.
    """
    kineto_trace, execution_trace = Path(kineto_trace), Path(execution_trace)
    recording = read_recording_of_step(kineto_trace, execution_trace, step)
    try:
        passes = passes_of(recording)
        boundaries = boundaries_of(recording, passes)
        if not boundaries:
            raise InputError(
                "at no boundary of modules is the step a chain",
                field="traceEvents",
                expected="make a graph: other values lead past each module",
            )
        parts = _parts(passes, boundaries, modules_of(recording))
        return Chain(
            name=name_of_recording(kineto_trace),
            input_bytes=_input_bytes(parts[0], recording),
            stages=tuple(_stage(part, recording) for part in parts),
            provenance=provenance_of(recording, kineto_trace, execution_trace),
        )
    except InputError as error:
        raise error.within(source=str(kineto_trace)) from None


def _parts(passes: Passes, boundaries: list[Boundary], modules: list[Module]) -> list[_Part]:
    names: Counter[str] = Counter()
    parts = []
    begins: list[Boundary | None] = [None, *boundaries]
    ends: list[Boundary | None] = [*boundaries, None]
    for begin, end in zip(begins, ends, strict=True):
        first = begin.number if begin else 0
        last = end.number if end else sys.maxsize
        name = _name(begin, end, modules)
        names[name] += 1
        parts.append(
            _Part(
                name if names[name] == 1 else f"{name} {names[name]}",
                tuple(
                    operator
                    for operator in passes.forward
                    if first <= operator.call.number
                    and (last is None or operator.call.number < last)
                ),
                tuple(
                    operator
                    for operator, origin in zip(passes.backward, passes.origins, strict=True)
                    if first <= origin < last
                ),
                end.output if end else None,
                end.gradient if end else None,
                begin.gradient if begin else None,
            )
        )
    return parts


def _name(begin: Boundary | None, end: Boundary | None, modules: list[Module]) -> str:
    """Return the name of the largest module within a stage, or else of that which it is part of."""
    start_ns = begin.time_ns if begin else modules[0].span.start_ns
    end_ns = end.time_ns if end else sys.maxsize
    inside = [
        module
        for module in modules
        if start_ns <= module.span.start_ns and module.span.end_ns <= end_ns
    ]
    around = [module for module in modules if module.span.start_ns <= start_ns < module.span.end_ns]
    return inside[0].name if inside else around[-1].name if around else "loss"


def _stage(part: _Part, recording: Recording) -> Stage:
    size = recording.size_bytes
    kept = recording.step.kept
    made = {value for operator in part.forward for value in operator.results}
    read = {value for operator in part.backward for value in operator.inputs}
    saved = made & read | ({part.output} if part.output is not None else set())
    saved_bytes = sum(map(size, saved))
    output_bytes = size(part.output) if part.output is not None else 0
    gradients = {value for operator in part.backward for value in operator.results} & kept
    forward_peaks = [
        _peak_bytes(part.forward, set(), held, frozenset(), recording)
        for held in (saved, {part.output})
    ]
    gradient_bytes = size(part.gradient) if part.gradient is not None else 0
    backward_start = saved | ({part.gradient} if part.gradient is not None else set())
    backward_peak = _peak_bytes(part.backward, backward_start, {part.passed}, gradients, recording)
    passed_bytes = size(part.passed) if part.passed is not None else 0
    return Stage(
        name=part.name,
        forward_ns=sum(map(recording.duration_ns, part.forward)),
        backward_ns=sum(map(recording.duration_ns, part.backward)),
        output_bytes=output_bytes,
        saved_bytes=saved_bytes,
        forward_overhead_bytes=max(
            0, forward_peaks[0] - saved_bytes, forward_peaks[1] - output_bytes
        ),
        backward_overhead_bytes=max(0, backward_peak - saved_bytes - gradient_bytes - passed_bytes),
        weight_bytes=sum(map(size, gradients)),
    )


def _peak_bytes(
    operators: Sequence[Operator],
    start: Collection[Value],
    held: Collection[Value | None],
    uncounted: Collection[Value],
    recording: Recording,
) -> int:
    """Return the peak of values while operators run.

    Parameters
    ----------
    operators
        The operators, in order.
    start
        Values that are there before.
    held
        Values that stay; all others are freed after their last use among the operators.
    uncounted
        Values that do not count.
    recording
        The recording.
    """
    last_use = {value: place for place, op in enumerate(operators) for value in op.results}
    last_use.update((value, place) for place, op in enumerate(operators) for value in op.inputs)
    live = {value: recording.size_bytes(value) for value in start}
    peak = sum(live.values())
    for place, operator in enumerate(operators):
        for value in operator.results:
            # What is written in place takes the memory of what was there.
            if value.before is not None and last_use.get(value.before, -1) <= place:
                live.pop(value.before, None)
            live[value] = 0 if value in uncounted else recording.size_bytes(value)
        peak = max(peak, sum(live.values()) + recording.workspace_bytes(operator))
        for value in {*operator.results, *operator.inputs}:
            if last_use[value] == place and value not in held:
                live.pop(value, None)
    return peak


def _input_bytes(first: _Part, recording: Recording) -> int:
    read = dict.fromkeys(
        value
        for operator in first.forward
        for value in operator.inputs
        if value.is_resident and recording.counts(value)
    )
    weights = Counter(
        recording.size_bytes(value)
        for operator in first.backward
        for value in operator.results
        if value in recording.step.kept
    )
    total = 0
    for value in read:
        if weights[value.size_bytes] > 0:
            weights[value.size_bytes] -= 1
        else:
            total += value.size_bytes
    return total
