"""Boundaries between modules at which a recorded step is a chain.

A boundary is the begin or the end of a module's forward function. A step is a chain there if one
value alone leads across it in the forward pass, one gradient in the backward pass, which runs all
that is behind the boundary first, and if no operator of the backward pass reads more of the other
side than that value.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.importers.torch_trace.kineto_trace import Module
from jettison.instances.importers.torch_trace.recorded_operators import Operator, Value
from jettison.instances.importers.torch_trace.recording import Recording


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """Boundary: the number of the first call behind it, the value and the gradient across it."""

    number: int
    time_ns: int
    output: Value
    gradient: Value


@dataclass(frozen=True, slots=True)
class Passes:
    """Operators of the two passes, with the forward operator that each backward one belongs to.

    `origins` are numbers of calls: where gradients are accumulated, that of the operator before;
    before the first function of the backward pass, none is as late.
    """

    forward: tuple[Operator, ...]
    backward: tuple[Operator, ...]
    origins: tuple[int, ...]


def passes_of(recording: Recording) -> Passes:
    """Return the operators of the two passes."""
    backward_from = recording.backward_from
    forward, backward, origins = [], [], []
    origin = backward_from
    for operator in recording.operators:
        if not operator.is_backward(backward_from):
            forward.append(operator)
            continue
        if operator.backward_of is not None:
            origin = recording.forward_of.get(operator.backward_of, origin)
        backward.append(operator)
        origins.append(origin)
    return Passes(tuple(forward), tuple(backward), tuple(origins))


def modules_of(recording: Recording) -> list[Module]:
    """Return the modules that ran in the forward pass, in order.

    Raises
    ------
    InputError
        If none is recorded.
    """
    if not recording.operators or not recording.backward_from:
        raise InputError(
            "no forward operator leads to the backward pass",
            field="nodes",
            expected="record both passes of a step",
        )
    first = recording.timed[recording.operators[0].call.number].span
    last = recording.timed[recording.backward_from].span
    modules = [
        module
        for module in recording.kineto.modules
        if module.span.start_ns <= last.end_ns and module.span.end_ns >= first.start_ns
    ]
    if not modules:
        raise InputError(
            "no module is recorded",
            field="traceEvents",
            expected="record with with_stack=True, or make a graph",
        )
    return modules


def boundaries_of(recording: Recording, passes: Passes) -> list[Boundary]:
    """Return all boundaries of modules at which the step is a chain, in order.

    :math:`O(m (n + |E|))` for m modules and n operators.
    """
    numbers = [operator.call.number for operator in passes.forward]
    starts = [recording.timed[number].span.start_ns for number in numbers]
    times = sorted(
        {
            time_ns
            for module in modules_of(recording)
            for time_ns in (module.span.start_ns, module.span.end_ns)
        }
    )
    found: dict[int, Boundary] = {}
    for time_ns in times:
        place = bisect_left(starts, time_ns)
        if not 0 < place < len(numbers) or numbers[place] in found:
            continue
        boundary = _boundary(recording, passes, _first_number(recording, time_ns), place, time_ns)
        if boundary is not None:
            found[numbers[place]] = boundary
    return list(found.values())


def _first_number(recording: Recording, time_ns: int) -> int:
    """Return the number of the first call from a time on."""
    return min(number for number, call in recording.timed.items() if call.span.start_ns >= time_ns)


def _boundary(
    recording: Recording, passes: Passes, number: int, place: int, time_ns: int
) -> Boundary | None:
    before = _made(passes.forward[:place], recording)
    behind = _made(passes.forward[place:], recording)
    crossing = before & _read(passes.forward[place:])
    early = [origin < number for origin in passes.origins]
    if len(crossing) != 1 or not any(early):
        return None
    first_early = early.index(True)
    later, earlier = passes.backward[:first_early], passes.backward[first_early:]
    gradients = (_made(later, recording) - recording.step.kept) & _read(earlier)
    if (
        not all(early[first_early:])
        or len(gradients) != 1
        or not _read(later) & before <= crossing
        or _read(earlier) & behind
    ):
        return None
    return Boundary(number, time_ns, crossing.pop(), gradients.pop())


def _made(operators: tuple[Operator, ...], recording: Recording) -> set[Value]:
    return {
        value
        for operator in operators
        for value in operator.results
        if recording.size_bytes(value) > 0
    }


def _read(operators: tuple[Operator, ...]) -> set[Value]:
    return {value for operator in operators for value in operator.inputs}
