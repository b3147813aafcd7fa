"""Importer of Kineto traces alone, as chains, where the model is a ``torch.nn.Sequential``.

A Kineto trace does not say which tensor an operator reads. In a ``Sequential`` each module reads
what the one before it made and nothing else, so that its modules are stages, those of a
``Sequential`` inside of it too; the loss is all that follows. What else is needed is recorded:

- *Forward operation*: what runs from the begin of a module to that of the next. What it allocates
  and leaves in memory is saved; the overhead is the peak of all else that it allocates.
- *Backward operation*: the functions of autograd whose sequence numbers are those of its forward
  operators. The overhead is the peak of what they allocate and free.
- *Output*: the gradient that the function of its last forward operator is given has its shape and
  type. The gradients that are accumulated have those of the weights. A module that only shows its
  input in another way has an output of its own, which counts twice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import checked_name
from jettison.instances.core.provenance import Provenance
from jettison.instances.importers.torch_trace.execution_trace import (
    ACCUMULATE,
    BACKWARD,
    STEP_MARK,
)
from jettison.instances.importers.torch_trace.kineto_trace import (
    KinetoTrace,
    Module,
    TimedCall,
    read_kineto_trace,
)
from jettison.instances.importers.torch_trace.step_graph import name_of_recording
from jettison.instances.remat_chain.chain import Chain, Stage

_SEQUENTIAL = "Sequential_"
_EMBEDDING = "aten::embedding"
_ITEM_BYTES: Mapping[str, int] = MappingProxyType(
    {
        **{"double": 8, "long int": 8, "long": 8, "float": 4, "int": 4},
        **{"c10::Half": 2, "c10::BFloat16": 2, "short": 2, "short int": 2},
        **{"signed char": 1, "unsigned char": 1, "bool": 1},
    }
)


def import_sequential_chain(kineto_trace: str | Path) -> Chain:
    r"""Read a recorded step of a ``Sequential`` as a chain; :math:`O(n \log n)` for n events.

    Parameters
    ----------
    kineto_trace
        What the profiler exported of one step, with shapes, memory and stacks.

    Raises
    ------
    InputError
        If the file cannot be read or is refused, lacks modules, allocations, shapes or a backward
        pass, has several steps, or the model is no ``Sequential``; the message names the file.
    """
    path = Path(kineto_trace)
    trace = read_kineto_trace(path)
    try:
        return Chain(
            name=name_of_recording(path),
            input_bytes=_input_bytes(trace, _modules(trace)[0]),
            stages=tuple(_stages(trace)),
            provenance=_provenance(trace),
        )
    except InputError as error:
        raise error.within(source=str(path)) from None


def _provenance(trace: KinetoTrace) -> Provenance:
    return Provenance(
        source="imported",
        device=trace.device,
        device_kind="cuda" if trace.uses_device else "cpu",
        note="Measured: one step, with the times of "
        + ("the kernels and copies that it starts" if trace.uses_device else "the host")
        + ", and what the allocator gave. A module of the Sequential is a stage. What a forward "
        "operation needs that saves nothing is unknown: it has the overhead of one that saves.",
    )


@dataclass(frozen=True, slots=True)
class _Function:
    """Function of the backward pass with the place of the stage that it belongs to."""

    evaluated: TimedCall
    inner: TimedCall
    stage: int


def _stages(trace: KinetoTrace) -> list[Stage]:
    modules = _modules(trace)
    _check_one_step(trace)
    if not trace.memory:
        raise InputError(
            "no allocation is recorded",
            field="traceEvents",
            expected="record with profile_memory=True",
        )
    evaluated = [call for call in trace.calls if call.name.startswith(BACKWARD)]
    if not evaluated:
        raise InputError(
            "there is no backward pass", field="traceEvents", expected="record a training step"
        )
    root = _outermost(trace.modules)[0]
    starts = [*(module.span.start_ns for module in modules), root.span.end_ns]
    ends = [*starts[1:], evaluated[0].span.start_ns]
    functions = _functions(trace, evaluated, starts)
    names = [checked_name(module.name, "module") for module in modules]
    return [
        _stage(trace, name, place, (start, end), functions)
        for place, (name, start, end) in enumerate(zip([*names, "loss"], starts, ends, strict=True))
    ]


def _stage(
    trace: KinetoTrace,
    name: str,
    place: int,
    forward: tuple[int, int],
    functions: list[_Function],
) -> Stage:
    own = [function for function in functions if function.stage == place]
    if not own:
        raise InputError(
            f"nothing of {name!r} is differentiated",
            field="traceEvents",
            expected="record a step that trains all modules of the Sequential",
        )
    is_loss = not any(function.stage > place for function in functions)
    last = max(own, key=lambda function: function.inner.sequence)
    output_bytes = 0 if is_loss else _argument_bytes(last.inner, 0)
    held_bytes, forward_peak = _held_and_peak_bytes(trace, *forward)
    window = (own[0].evaluated.span.start_ns, own[-1].evaluated.span.end_ns)
    return Stage(
        name=name,
        forward_ns=_time_ns(trace, *forward, own[0].evaluated.span.start_ns),
        backward_ns=sum(
            _time_ns(trace, span.start_ns, span.end_ns, span.end_ns)
            for span in (function.evaluated.span for function in own)
        ),
        output_bytes=output_bytes,
        saved_bytes=max(held_bytes, output_bytes),
        forward_overhead_bytes=forward_peak,
        backward_overhead_bytes=_held_and_peak_bytes(trace, *window)[1],
        weight_bytes=sum(
            _argument_bytes(function.inner, 0)
            for function in own
            if function.inner.name == ACCUMULATE
        ),
    )


def _outermost(modules: tuple[Module, ...]) -> list[Module]:
    """Return the modules that are inside of no other; they are in the order of their begin."""
    found: list[Module] = []
    for module in modules:
        if not found or not found[-1].span.holds(module.span):
            found.append(module)
    return found


def _modules(trace: KinetoTrace) -> list[Module]:
    """Return the modules of the model, which is a Sequential, in order."""
    if not trace.modules:
        raise InputError(
            "no module is recorded", field="traceEvents", expected="record with with_stack=True"
        )
    root = _outermost(trace.modules)[0]
    if not root.name.startswith(_SEQUENTIAL):
        raise InputError(
            f"the model is {root.name[:60]!r} and no Sequential: which tensors its modules read "
            "is not recorded",
            field="traceEvents",
            expected="give the execution trace of the same run as well (--execution-trace)",
        )
    return _parts(root, trace.modules)


def _parts(module: Module, modules: tuple[Module, ...]) -> list[Module]:
    inside = _outermost(
        tuple(other for other in modules if other is not module and module.span.holds(other.span))
    )
    if not module.name.startswith(_SEQUENTIAL) or not inside:
        return [module]
    return [part for child in inside for part in _parts(child, modules)]


def _check_one_step(trace: KinetoTrace) -> None:
    marks = {call.name for call in trace.calls if call.name.startswith(STEP_MARK)}
    roots = [module for module in _outermost(trace.modules) if module.name.startswith(_SEQUENTIAL)]
    if len(marks) > 1 or len(roots) > 1:
        raise InputError(
            f"{max(len(marks), len(roots))} steps",
            field="traceEvents",
            expected="record one step",
        )


def _functions(
    trace: KinetoTrace, evaluated: list[TimedCall], starts: list[int]
) -> list[_Function]:
    """Return the functions of the backward pass in order, each with its stage.

    Raises
    ------
    InputError
        If one of an earlier stage runs before one of a later stage.
    """
    first_ns = evaluated[0].span.start_ns
    made_at = {
        call.sequence: call.span.start_ns
        for call in trace.calls
        if call.sequence >= 0 and call.span.start_ns < first_ns
    }
    inner_of: dict[str, list[TimedCall]] = {}
    for call in trace.calls:
        inner_of.setdefault(call.name, []).append(call)
    found: list[_Function] = []
    stage = len(starts) - 1
    for outer in evaluated:
        inner = next(
            (
                call
                for call in inner_of.get(outer.name.removeprefix(BACKWARD), ())
                if outer.span.holds(call.span)
            ),
            outer,
        )
        if inner.sequence in made_at:
            place = max(0, bisect_right(starts, made_at[inner.sequence]) - 1)
            if place > stage:
                raise InputError(
                    f"{inner.name[:60]!r} of stage {place + 1} runs after one of stage {stage + 1}",
                    field="traceEvents",
                    expected="give the execution trace as well (--execution-trace)",
                )
            stage = place
        found.append(_Function(outer, inner, stage))
    return found


def _time_ns(trace: KinetoTrace, start_ns: int, end_ns: int, before_ns: int) -> int:
    """Return the time of the calls that begin in a window, those inside of others left out.

    With kernels it is theirs. What begins at `before_ns` or later is left out as well.
    """
    total = 0
    until: dict[str, int] = {}
    first, last = (
        bisect_left(trace.calls, time_ns, key=lambda call: call.span.start_ns)
        for time_ns in (start_ns, min(end_ns, before_ns))
    )
    for call in trace.calls[first:last]:
        if trace.uses_device:
            total += call.device_ns
        elif call.span.start_ns >= until.get(call.span.thread, 0):
            until[call.span.thread] = call.span.end_ns
            total += call.span.end_ns - call.span.start_ns
    return total


def _held_and_peak_bytes(trace: KinetoTrace, start_ns: int, end_ns: int) -> tuple[int, int]:
    """Return what a window allocates and does not free, and the peak of what it frees."""
    events = [event for event in trace.memory if start_ns <= event.time_ns < end_ns]
    last = {event.address: event for event in events}
    held = {address for address, event in last.items() if event.size_bytes > 0}
    live: dict[int, int] = {}
    peak = 0
    for event in events:
        live.pop(event.address, None)
        is_last = event.address in held and last[event.address] is event
        if event.size_bytes > 0 and not is_last:
            live[event.address] = event.size_bytes
            peak = max(peak, sum(live.values()))
    return sum(last[address].size_bytes for address in held), peak


def _argument_bytes(call: TimedCall, place: int) -> int:
    if place >= len(call.shapes) or place >= len(call.dtypes):
        raise InputError(
            f"{call.name[:60]!r} has no shapes",
            field="Input Dims",
            expected="record with record_shapes=True",
        )
    dtype = call.dtypes[place]
    if dtype not in _ITEM_BYTES:
        raise InputError(
            f"{dtype[:40]!r} of {call.name[:60]!r} is not a type of numbers that is known",
            field="Input type",
            expected=f"give one of {', '.join(_ITEM_BYTES)}",
        )
    return prod(call.shapes[place]) * _ITEM_BYTES[dtype]


def _input_bytes(trace: KinetoTrace, first: Module) -> int:
    call = next((call for call in trace.calls if first.span.holds(call.span)), None)
    if call is None:
        raise InputError(
            f"{first.name[:60]!r} calls no operator", field="traceEvents", expected="record a step"
        )
    # An embedding is given its table first.
    return _argument_bytes(call, 1 if call.name == _EMBEDDING else 0)
