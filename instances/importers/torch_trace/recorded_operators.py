"""Operators of a recorded step: the calls that stand for all that they call, and their values.

**Values.** A storage that a call returns and was not given is a new value. What has a storage that
the call was given is a view, and is that value, unless the allocator had taken it back before: then
what is read was made by the host without an operator, at that address. A call that writes an
argument makes a new value in its place, which it makes from the old one. What was there before the
step (parameters, the batch, states of the optimizer) is resident, and so is each later state of it.

**Operators.** A call of an operator stands for what it calls, unless a value that is made inside of
it is read later and is not one of its results: a loss that computes probabilities for the backward
pass, say. Then the calls inside of it stand for themselves. Functions of autograd and named ranges
only gather calls. What the optimizer and the loader of data call is no part of the step.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from jettison.instances.importers.torch_trace.execution_trace import (
    ACCUMULATE,
    Call,
    Tensor,
)
from jettison.instances.importers.torch_trace.released_memory import ReleasedMemory

_OUTSIDE = ("Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)#")
# An address that Python has just filled holds nothing of what was there before.
_FILLED_BY_HOST = "aten::lift_fresh"
_RESIZES = "aten::resize_"


@dataclass(slots=True, eq=False)
class Value:
    """Value of a storage.

    Attributes
    ----------
    size_bytes
        Bytes of its storage, as far as calls saw it.
    device
        As PyTorch names it, ``cuda:0``.
    maker
        Number of the innermost call that makes it; None if it is resident.
    before
        What was in its place, if the call that makes it writes an argument.
    is_resident
        Whether its memory was there before the step.
    """

    size_bytes: int
    device: str
    maker: int | None
    before: Value | None = None
    is_resident: bool = False


@dataclass(slots=True, eq=False)
class Operator:
    """Operator of the step.

    Attributes
    ----------
    call
        The call that stands for it.
    inputs
        Values that it reads and does not make.
    results
        Values that it makes and returns, or that are read later.
    scratch
        Values that it makes for itself.
    backward_of
        Sequence number of the function of the backward pass that calls it, which is that of its
        forward operator; None outside of the backward pass, -1 where gradients are accumulated.
    """

    call: Call
    inputs: tuple[Value, ...]
    results: tuple[Value, ...]
    scratch: tuple[Value, ...]
    backward_of: int | None

    def is_backward(self, backward_from: int) -> bool:
        """Return whether it is one of the backward pass, the gradient seed included.

        `backward_from` is the number of the last forward operator that is differentiated.
        """
        return self.backward_of is not None or self.call.number > backward_from


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """Operators of a step, in their order; what is kept (gradients of parameters); residents."""

    operators: tuple[Operator, ...]
    kept: frozenset[Value]
    residents: tuple[Value, ...]


def recorded_step(
    calls: tuple[Call, ...], whole: Container[int], released: ReleasedMemory
) -> RecordedStep:
    """Return the operators of a step; :math:`O(n)` for n calls, times their depth.

    Parameters
    ----------
    calls
        The outermost calls of the step, in order.
    whole
        Numbers of calls that stand for all that they call, whatever they are: functions of the
        backward pass that start kernels themselves.
    released
        When what calls have allocated is gone.
    """
    values = _Values(released)
    for call in calls:
        values.follow(call)
    operators: list[Operator] = []
    kept: list[Value] = []
    for call in calls:
        _choose(call, None, values, whole, operators, kept)
    inside = {value for operator in operators for value in operator.results}
    residents = dict.fromkeys(
        value for operator in operators for value in operator.inputs if value not in inside
    )
    for value in residents:
        value.is_resident = True
    for operator in operators:
        for value in operator.results:
            value.is_resident |= value.before is not None and value.before.is_resident
    return RecordedStep(
        tuple(_without_bare_memory(operators)), frozenset(kept) & inside, tuple(residents)
    )


@dataclass
class _Values:
    """Values by the calls that make, return and read them."""

    released: ReleasedMemory
    release_ns: dict[Value, int | None] = field(default_factory=dict)
    current: dict[int, Value] = field(default_factory=dict)
    made: dict[int, list[Value]] = field(default_factory=dict)
    returned: dict[int, list[Value]] = field(default_factory=dict)
    read: dict[int, list[Value]] = field(default_factory=dict)
    readers: dict[Value, list[int]] = field(default_factory=dict)
    last_inside: dict[int, int] = field(default_factory=dict)
    # What a call will return may be given to calls inside of it before it was ever returned.
    awaited: dict[int, Call] = field(default_factory=dict)
    # What was given to a call is there until it ends: nothing else can have its storage.
    given: frozenset[int] = frozenset()

    def follow(self, call: Call) -> None:
        """Follow a call from its begin to its end."""
        given = [tensor for tensors in call.arguments for tensor in tensors]
        known = frozenset(tensor.storage for tensor in given)
        self.read[call.number] = [
            self._read(call, tensor, is_written=place in call.written)
            for place, tensors in enumerate(call.arguments)
            for tensor in tensors
        ]
        outer_awaited, outer_given = self.awaited, self.given
        if call.is_operator:
            self.given = outer_given | known
            awaited = {tensor.storage: call for tensor in call.outputs} | outer_awaited
            self.awaited = {key: awaited[key] for key in awaited.keys() - self.given}
        for inner in call.calls:
            self.follow(inner)
        self.awaited, self.given = outer_awaited, outer_given
        last = call.calls[-1] if call.calls else call
        self.last_inside[call.number] = self.last_inside.get(last.number, last.number)
        returned = []
        for place in call.written:
            written = call.arguments[place] if place < len(call.arguments) else ()
            returned += [self._written(call, tensor) for tensor in written]
        for tensor in call.outputs:
            value = self.current.get(tensor.storage)
            is_known = tensor.storage in known or tensor.storage in self.given
            if value is None or not (is_known or self._is_inside(value, call)):
                value = self._new(call, tensor, None)
            elif tensor.is_exact or call.name == _RESIZES:
                value.size_bytes = max(value.size_bytes, tensor.end_bytes)
            returned.append(value)
        self.returned[call.number] = returned

    def is_read_after(self, value: Value, call: Call) -> bool:
        """Return whether a call outside of this one reads a value that was made in it."""
        last = self.last_inside[call.number]
        return any(not call.number <= reader <= last for reader in self.readers.get(value, ()))

    def _is_inside(self, value: Value, call: Call) -> bool:
        return value.maker is not None and value.maker >= call.number

    def _read(self, call: Call, tensor: Tensor, *, is_written: bool) -> Value:
        value = self.current.get(tensor.storage)
        outer = self.awaited.get(tensor.storage)
        if outer is not None and (value is None or not self._is_inside(value, outer)):
            return self._new(call, tensor, None)
        # What is written may have been given memory of another size in between.
        is_gone = not is_written and self._is_gone(value, call)
        if value is None or is_gone or call.name == _FILLED_BY_HOST:
            value = Value(tensor.end_bytes, tensor.device, None, is_resident=True)
            self.current[tensor.storage] = value
        elif tensor.is_exact or value.maker is None:
            value.size_bytes = max(value.size_bytes, tensor.end_bytes)
        if call.is_operator:
            self.readers.setdefault(value, []).append(call.number)
        return value

    def _is_gone(self, value: Value | None, call: Call) -> bool:
        release_ns = None if value is None else self.release_ns.get(value)
        return self.released.is_gone(release_ns, call.number)

    def _written(self, call: Call, tensor: Tensor) -> Value:
        old = self.current[tensor.storage]
        # A call inside of this one has written it.
        return old if self._is_inside(old, call) else self._new(call, tensor, old)

    def _new(self, call: Call, tensor: Tensor, before: Value | None) -> Value:
        value = Value(
            max(tensor.end_bytes, before.size_bytes if before else 0),
            tensor.device,
            call.number,
            before,
            before is not None and before.is_resident,
        )
        self.release_ns[value] = (
            self.release_ns.get(before)
            if before is not None
            else self.released.release_ns(call.number, tensor.end_bytes)
        )
        self.current[tensor.storage] = value
        self.made.setdefault(call.number, []).append(value)
        return value


def _choose(
    call: Call,
    backward_of: int | None,
    values: _Values,
    whole: Container[int],
    operators: list[Operator],
    kept: list[Value],
) -> None:
    """Append the operators of a call, and the gradients that it leaves behind."""
    if call.name.startswith(_OUTSIDE):
        return
    if call.is_backward:
        backward_of = call.forward_sequence
    inner_made = [value for inner in call.walk() for value in values.made.get(inner.number, ())]
    if call.name == ACCUMULATE:
        new = [value for value in inner_made if not values.is_read_after(value, call)]
        kept += new or values.read[call.number]
    results = [
        value
        for value in dict.fromkeys(inner_made)
        if value in values.returned[call.number] or values.is_read_after(value, call)
    ]
    is_whole = call.number in whole or (
        call.is_operator and set(results) <= {*values.returned[call.number]}
    )
    if call.calls and not is_whole:
        for inner in call.calls:
            _choose(inner, backward_of, values, whole, operators, kept)
        return
    made = set(inner_made)
    read = dict.fromkeys(value for inner in call.walk() for value in values.read[inner.number])
    operators.append(
        Operator(
            call,
            tuple(value for value in read if value not in made),
            tuple(results),
            _scratch(inner_made, results),
            backward_of,
        )
    )


def _scratch(made: list[Value], results: list[Value]) -> tuple[Value, ...]:
    """Return what an operator makes for itself; a value that another replaces is in its place."""
    replaced = {value.before for value in made}
    return tuple(value for value in made if value not in results and value not in replaced)


def _without_bare_memory(operators: list[Operator]) -> Iterator[Operator]:
    """Yield the operators; memory that one allocates and another fills is made by the latter.

    Memory that nothing reads is left out.
    """
    maker = {value: operator for operator in operators for value in operator.results}
    readers: dict[Value, list[Operator]] = {}
    fills: dict[Value, Operator] = {}
    for operator in operators:
        for value in operator.inputs:
            readers.setdefault(value, []).append(operator)
        for value in operator.results:
            if value.before is not None:
                fills[value.before] = operator
    bare = {
        value
        for value, operator in maker.items()
        if operator.call.name.startswith(("aten::empty", "aten::new_empty"))
        and all(
            reader is fills.get(value) or not _computes(reader) for reader in readers.get(value, ())
        )
    }
    for operator in operators:
        operator.inputs = tuple(value for value in operator.inputs if value not in bare)
        operator.results = tuple(value for value in operator.results if value not in bare)
        yield operator


def _computes(operator: Operator) -> bool:
    """Return whether an operator does more than to show a value in another way."""
    return bool(operator.results or operator.scratch)
