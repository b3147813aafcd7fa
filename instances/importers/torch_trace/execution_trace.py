"""Reader of PyTorch's execution traces: calls with the storages of their tensors.

``torch.profiler.ExecutionTraceObserver`` writes a node for each call of an operator, of a function
of the backward pass and of a named range, with the calls inside it. Two forms are read, that of
PyTorch 2.0 (schema 1.0.1) and that of Chakra (schema 1.1 and later), which has the strides of
tensors as well. A tensor is written as tensor and storage number, offset, number of elements, bytes
of an element, device.

A storage number stands for an address: what is made after something was freed may have its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.importers.torch_trace.call_schema import written_arguments
from jettison.instances.importers.torch_trace.recorded_file import (
    checked,
    read_recording,
    whole_number,
)

BACKWARD = "autograd::engine::evaluate_function: "
ACCUMULATE = "torch::autograd::AccumulateGrad"
STEP_MARK = "ProfilerStep#"
_DEEPEST = 200
_THREADS = ("[pytorch|profiler|execution_graph|", "[pytorch|profiler|execution_trace|")


class Tensor(NamedTuple):
    """Tensor as a call saw it.

    `end_bytes` is the end of its elements in the storage: exact where the strides are recorded
    (`is_exact`), else as if it were contiguous.
    """

    storage: int
    end_bytes: int
    device: str
    is_exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Call that was recorded, with the calls inside it.

    Attributes
    ----------
    number
        Number of the node: calls begin in this order.
    name
        Of an operator, ``aten::mm``; of a function of autograd, or of a range.
    record
        Number by which the profiler knows the call (record function id).
    thread
        Number of the thread.
    sequence
        Number that a forward operator shares with its function in the backward pass; -1 if none.
    is_operator
        Whether it is a call of an operator, which has a schema.
    arguments
        For each argument, its tensors.
    written
        Positions of the arguments that the operator writes.
    outputs
        All tensors that it returns.
    calls
        Calls inside it, in their order.
    """

    number: int
    name: str
    record: int
    thread: int
    sequence: int
    is_operator: bool
    arguments: tuple[tuple[Tensor, ...], ...]
    written: frozenset[int]
    outputs: tuple[Tensor, ...]
    calls: list[Call] = field(default_factory=list)

    @property
    def is_backward(self) -> bool:
        """Whether the engine of autograd evaluates a function in it."""
        return self.name.startswith(BACKWARD)

    @property
    def forward_sequence(self) -> int:
        """Sequence number of the forward operator whose gradient is computed in it; -1 if none."""
        return max((inner.sequence for inner in self.calls), default=self.sequence)

    def walk(self) -> Iterator[Call]:
        """Yield the call and all inside it, in the order in which they begin."""
        waiting = [self]
        while waiting:
            call = waiting.pop()
            yield call
            waiting += reversed(call.calls)


@dataclass(frozen=True, slots=True)
class ExecutionTrace:
    """Execution trace: the outermost calls of all threads in their order, and the process."""

    process: int | None
    calls: tuple[Call, ...]

    def walk(self) -> Iterator[Call]:
        """Yield all calls; those of one thread in the order in which they begin."""
        for call in self.calls:
            yield from call.walk()


def read_execution_trace(path: Path) -> ExecutionTrace:
    r"""Read an execution trace; :math:`O(n \log n)` for n nodes.

    Raises
    ------
    InputError
        If the file cannot be read, is truncated or no such trace, has tensors without storages, or
        an operator of which the code was generated (``torch.compile``); the message names the file
        and the node.
    """
    document = read_recording(path)
    try:
        if not isinstance(document, dict) or "nodes" not in document:
            raise InputError(
                "there are no nodes",
                field="nodes",
                expected="give the file of torch.profiler.ExecutionTraceObserver",
            )
        process = document.get("pid")
        entries = checked(document["nodes"], list, "nodes")
        nodes = [_node(entry, f"nodes[{place}]") for place, entry in enumerate(entries)]
        return ExecutionTrace(process if type(process) is int else None, _calls(nodes))
    except InputError as error:
        raise error.within(source=str(path)) from None


def _calls(nodes: list[tuple[int, Call]]) -> tuple[Call, ...]:
    """Put calls into those that they are inside of; return the outermost ones."""
    by_number: dict[int, Call] = {}
    for place, (_, call) in enumerate(nodes):
        if call.number in by_number:
            raise InputError(
                f"{call.number} stands twice",
                field=f"nodes[{place}].id",
                expected="give one trace a file",
            )
        by_number[call.number] = call
    outermost: list[Call] = []
    depth: dict[int, int] = {}
    for place, (parent, call) in sorted(enumerate(nodes), key=lambda item: item[1][1].number):
        if call.name.startswith(_THREADS):
            continue
        outer = by_number.get(parent)
        if outer is None:
            raise InputError(
                f"{call.name[:60]!r} is inside of node {parent}, which is not there",
                field=f"nodes[{place}]",
                expected="give the file as the observer closed it, complete",
            )
        if outer.number >= call.number:
            raise InputError(
                f"{call.name[:60]!r} begins before node {parent}, inside of which it is",
                field=f"nodes[{place}]",
                expected="give the trace as it was recorded",
            )
        depth[call.number] = depth.get(outer.number, 0) + 1
        if depth[call.number] > _DEEPEST:
            raise InputError(
                f"{call.name[:60]!r} is inside of {_DEEPEST} calls",
                field=f"nodes[{place}]",
                expected="give the trace as it was recorded",
            )
        (outermost if outer.name.startswith(_THREADS) else outer.calls).append(call)
    return tuple(outermost)


def _node(entry: Any, where: str) -> tuple[int, Call]:
    """Return the node that a call is inside of, and the call."""
    if not isinstance(entry, dict):
        raise InputError("it is not an object", field=where, expected="write a node")
    if "ctrl_deps" in entry:
        facts, parent, inputs, outputs = _chakra(entry, where)
    else:
        facts, parent = entry, entry.get("parent")
        inputs, outputs = (
            _Side.of(entry.get(f"{side}s"), entry.get(f"{side}_types"), None, None, where)
            for side in ("input", "output")
        )
    name = checked(entry.get("name"), str, f"{where}.name")
    schema = checked(facts.get("op_schema"), str, f"{where}: op_schema")
    if facts.get("kernel_backend"):
        raise InputError(
            f"{name[:40]!r} was generated by a compiler: what it reads and writes is not recorded",
            field=where,
            expected="record the model without torch.compile",
        )
    arguments = tuple(
        tuple(inputs.tensors(place, f"{where}: {name[:60]} input {place}"))
        for place in range(len(inputs.values))
    )
    return whole_number(parent, f"{where}: parent"), Call(
        number=whole_number(entry.get("id"), f"{where}.id"),
        name=name,
        record=whole_number(facts.get("rf_id"), f"{where}: rf_id"),
        thread=whole_number(facts.get("tid"), f"{where}: tid"),
        sequence=whole_number(facts.get("seq_id"), f"{where}: seq_id"),
        is_operator=bool(schema),
        arguments=arguments,
        written=written_arguments(name, schema),
        outputs=tuple(
            tensor
            for place in range(len(outputs.values))
            for tensor in outputs.tensors(place, f"{where}: {name[:60]} output {place}")
        ),
    )


class _Side(NamedTuple):
    """Inputs or outputs of a node, argument by argument."""

    values: list[Any]
    types: list[Any]
    shapes: list[Any]
    strides: list[Any]

    @classmethod
    def of(cls, values: Any, types: Any, shapes: Any, strides: Any, where: str) -> _Side:
        kinds = checked(types, list, f"{where}: types")
        found = checked(values, list, f"{where}: values")
        if len(found) != len(kinds):
            raise InputError(
                f"{len(found)} values and {len(kinds)} types", field=where, expected="give both"
            )
        blank = [None] * len(found)
        return cls(
            found,
            kinds,
            shapes if isinstance(shapes, list) and len(shapes) == len(found) else blank,
            strides if isinstance(strides, list) and len(strides) == len(found) else blank,
        )

    def tensors(self, place: int, where: str) -> Iterator[Tensor]:
        """Yield the tensors of an argument; those without elements have no storage."""
        if "Tensor(" not in str(self.types[place]):
            return
        found = list(_tensors(self.values[place], self.shapes[place], self.strides[place]))
        if not found:
            raise InputError(
                "the tensor has no number of its storage",
                field=where,
                expected="record with PyTorch 2.0 or later: its execution traces have schema "
                "1.0.1 or above",
            )
        yield from (tensor for tensor in found if tensor is not None)


def _tensors(value: Any, shape: Any, strides: Any) -> Iterator[Tensor | None]:
    """Yield the tensors in a value, however they nest; None for one without elements."""
    if not isinstance(value, list):
        return
    if len(value) == 6 and isinstance(value[5], str) and all(type(x) is int for x in value[:5]):
        _, storage, offset, count, item_bytes, device = value
        if count <= 0 or min(offset, item_bytes) < 0:
            yield None
        elif _is_layout(shape) and _is_layout(strides) and len(shape) == len(strides):
            last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
            yield Tensor(storage, (offset + last + 1) * item_bytes, device, True)
        else:
            yield Tensor(storage, (offset + count) * item_bytes, device, False)
        return
    for place, item in enumerate(value):
        inner = (
            each[place] if isinstance(each, list) and len(each) == len(value) else None
            for each in (shape, strides)
        )
        yield from _tensors(item, *inner)


def _is_layout(value: Any) -> bool:
    return isinstance(value, list) and all(type(entry) is int and entry >= 0 for entry in value)


def _chakra(entry: Mapping[str, Any], where: str) -> tuple[dict[str, Any], Any, _Side, _Side]:
    facts = {}
    for place, attribute in enumerate(checked(entry.get("attrs"), list, f"{where}.attrs")):
        if not isinstance(attribute, dict) or "name" not in attribute:
            raise InputError(
                "it has no name", field=f"{where}.attrs[{place}]", expected="write an attribute"
            )
        facts[str(attribute["name"])] = attribute.get("value")
    sides = []
    for side in ("inputs", "outputs"):
        given = entry.get(side)
        if not isinstance(given, dict):
            raise InputError(
                f"there are no {side}", field=where, expected="give nodes with values and types"
            )
        values, types, shapes, strides = (
            given.get(key) for key in ("values", "types", "shapes", "strides")
        )
        sides.append(_Side.of(values, types, shapes, strides, where))
    return facts, entry["ctrl_deps"], sides[0], sides[1]
