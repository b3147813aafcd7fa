"""Peak of a step by the code that Inductor generated for it: what it allocates and lets go.

The code is a function of straight lines. A name is bound to a new buffer
(``buf0 = empty_strided_cpu(...)``, or the result of a call), or to what another name is bound to
(``buf3 = buf1; del buf1  # reuse``); what no name is bound to is free. This is read from the code
and not run. A call of a library has its results from its beginning, also those that the code takes
out of a tuple after it has let the arguments go, and memory of its own (`code_calls`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._inductor.virtualized import V

from jettison.instances.profilers.kernels.kernel_call import KernelCall
from jettison.torch.compilation.inductor.code_calls import (
    BufferLayout,
    library_call,
    rises_bytes,
)


@dataclass(frozen=True, slots=True)
class GeneratedCode:
    """Code of one pass.

    Attributes
    ----------
    text
        The module that Inductor wrote.
    sizes_bytes
        Size of each buffer and input, by name.
    is_backward
        Whether it is the backward pass.
    layouts
        Layout of each buffer and input that has one, by name.
    """

    text: str
    sizes_bytes: Mapping[str, int]
    is_backward: bool
    layouts: Mapping[str, BufferLayout] = field(default_factory=dict)

    @classmethod
    def of_present_graph(cls, text: str) -> GeneratedCode:
        """Return code with the sizes of the graph that is compiled at present."""
        graph: Any = V.graph
        buffers = {**graph.name_to_buffer, **graph.graph_inputs}
        found = {name: _layout(buffer) for name, buffer in buffers.items()}
        sizes = {name: _size_bytes(layout) for name, layout in found.items()}
        known = {
            name: BufferLayout(
                tuple(map(int, layout.size)),
                tuple(map(int, layout.stride)),
                layout.dtype,
                layout.device,
            )
            for name, layout in found.items()
            if layout is not None
        }
        return cls(text, sizes, bool(graph.is_backward), known)


@dataclass(frozen=True, slots=True)
class PassMemory:
    """Memory of one pass.

    Attributes
    ----------
    peak_bytes
        The most that is in memory at once.
    returned
        For each result the number of its storage and its size; None for an input, and for what is
        no buffer.
    """

    peak_bytes: int
    returned: tuple[tuple[int, int] | None, ...]


def step_peak_bytes(
    forward: GeneratedCode, backward: GeneratedCode, saved: int, device: torch.device
) -> int | None:
    """Return the peak of a step, as `measured_peak_bytes` runs it.

    Parameters
    ----------
    forward, backward
        The two passes.
    saved
        How many results of the forward pass the backward pass takes: the last ones there, the first
        ones here. What else it takes are gradients of outputs, which its caller holds.
    device
        Where it runs: on a CPU and on CUDA the calls of libraries are measured.

    Returns
    -------
    int | None
        None if the code is of another form.
    """
    calls = [call for code in (forward, backward) for call in library_calls(code)]
    rises = rises_bytes(calls, device)
    first = pass_memory(forward, {}, rises)
    names = input_names(backward)
    if first is None or names is None or len(first.returned) < saved or len(names) < saved:
        return None
    outputs = first.returned[: len(first.returned) - saved]
    kept = first.returned[len(first.returned) - saved :]
    held = {item for item in outputs if item is not None}
    # The user holds outputs, and inputs of the model are not counted.
    seen = set(held)
    sizes: dict[str, int] = {}
    for name, item in zip(names, kept, strict=False):
        sizes[name] = 0 if item is None or item in seen else item[1]
        if item is not None:
            seen.add(item)
    second = pass_memory(backward, sizes, rises)
    if second is None:
        return None
    tangents = sum(backward.sizes_bytes.get(name, 0) for name in names[saved:])
    held_bytes = sum(size for _, size in held)
    return max(first.peak_bytes, held_bytes + tangents + second.peak_bytes)


def input_names(code: GeneratedCode) -> list[str] | None:
    """Return the names of the inputs, in order."""
    call = _call(code)
    if call is None:
        return None
    for line in call.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.value) == "args":
            (target,) = line.targets
            items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            return [ast.unparse(item) for item in items]
    return []


def pass_memory(
    code: GeneratedCode,
    inputs_bytes: Mapping[str, int],
    rises: Mapping[KernelCall, int] | None = None,
) -> PassMemory | None:
    """Return the memory of a pass whose inputs count with these sizes, by default with none.

    `rises` has by how many bytes the memory in use rises while a library runs; calls that are not
    in it count as allocating their results. :math:`O(n)` for `n` lines.
    """
    call = _call(code)
    if call is None:
        return None
    walk = _Walk(code, inputs_bytes, {} if rises is None else rises, _parts_bytes(code, call))
    walk.run(call.body)
    return PassMemory(walk.peak_bytes, tuple(walk.returned))


@dataclass
class _Walk:
    """Walk through the lines, with the storage that each name is bound to."""

    code: GeneratedCode
    inputs_bytes: Mapping[str, int]
    rises: Mapping[KernelCall, int]
    # What is taken out of each tuple, which has it from the call on.
    parts_bytes: Mapping[str, int]
    peak_bytes: int = 0
    returned: list[tuple[int, int] | None] = field(default_factory=list)
    _used_bytes: int = 0
    _storage_of: dict[str, int] = field(default_factory=dict)
    _size_of: list[int] = field(default_factory=list)
    _inputs: set[int] = field(default_factory=set)
    _names: Counter[int] = field(default_factory=Counter)

    def run(self, lines: Sequence[ast.stmt]) -> None:
        """Walk through lines in order."""
        for line in lines:
            if isinstance(line, ast.Assign) and len(line.targets) == 1:
                self._call(line.value)
                self._assign(line.targets[0], line.value)
            elif isinstance(line, ast.Expr):
                self._call(line.value)
            elif isinstance(line, ast.Delete):
                for target in line.targets:
                    self._unbind(ast.unparse(target))
            elif isinstance(line, ast.Return):
                items = line.value.elts if isinstance(line.value, ast.Tuple) else [line.value]
                self.returned = [self._result(item) for item in items]
            elif isinstance(line, ast.With):
                self.run(line.body)

    def _call(self, value: ast.expr) -> None:
        """Count what a library allocates while it runs; arguments are still there."""
        described = library_call(value, self.code.layouts) if self.rises else None
        rise = 0 if described is None else self.rises.get(described, 0)
        self.peak_bytes = max(self.peak_bytes, self._used_bytes + rise)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if ast.unparse(value) == "args":
            items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            for name in map(ast.unparse, items):
                self._new(name, self.inputs_bytes.get(name, 0))
                self._inputs.add(self._storage_of[name])
        elif isinstance(target, ast.Name):
            source = _aliased(value)
            if source in self._storage_of:
                storage = self._storage_of[source]
                self._names[storage] += 1
                self._unbind(target.id)
                self._storage_of[target.id] = storage
            else:
                size = self.code.sizes_bytes.get(target.id, 0)
                held = self._storage_of.get(_tuple_of(value) or "")
                if held is not None:
                    self._size_of[held] -= size
                    self._used_bytes -= size
                self._new(target.id, self.parts_bytes.get(target.id, size))

    def _new(self, name: str, size_bytes: int) -> None:
        self._unbind(name)
        storage = len(self._size_of)
        self._size_of.append(size_bytes)
        self._storage_of[name] = storage
        self._names[storage] = 1
        self._used_bytes += size_bytes
        self.peak_bytes = max(self.peak_bytes, self._used_bytes)

    def _unbind(self, name: str) -> None:
        storage = self._storage_of.pop(name, None)
        if storage is not None:
            self._names[storage] -= 1
            if self._names[storage] == 0:
                self._used_bytes -= self._size_of[storage]

    def _result(self, item: ast.expr | None) -> tuple[int, int] | None:
        name = None if item is None else _aliased(item)
        storage = None if name is None else self._storage_of.get(name)
        if storage is None or storage in self._inputs:
            return None
        return storage, self._size_of[storage]


def library_calls(code: GeneratedCode) -> list[KernelCall]:
    """Return the calls of libraries in a pass."""
    call = _call(code)
    lines = [] if call is None else [item for item in ast.walk(call) if isinstance(item, ast.stmt)]
    values = [line.value for line in lines if isinstance(line, ast.Assign | ast.Expr)]
    described = (library_call(value, code.layouts) for value in values)
    return [item for item in described if item is not None]


def _parts_bytes(code: GeneratedCode, call: ast.FunctionDef) -> dict[str, int]:
    """Return for each name of a tuple how much the code takes out of it."""
    found: dict[str, int] = {}
    for line in ast.walk(call):
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            held = _tuple_of(line.value)
            if held is not None:
                size = code.sizes_bytes.get(line.targets[0].id, 0)
                found[held] = found.get(held, 0) + size
    return found


def _tuple_of(value: ast.expr) -> str | None:
    """Return the name of the tuple of which an expression is an element."""
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
        return value.value.id
    return None


def _aliased(value: ast.expr) -> str | None:
    """Return the name that an expression is a view of; results of a call are no views of it."""
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "reinterpret_tensor":
        return _aliased(value.args[0])
    return None


def _call(code: GeneratedCode) -> ast.FunctionDef | None:
    """Return the function that runs the pass; None if the code is in several partitions."""
    functions = [
        item for item in ast.walk(ast.parse(code.text)) if isinstance(item, ast.FunctionDef)
    ]
    if any(item.name.startswith("partition_") for item in functions):
        return None
    return next((item for item in functions if item.name == "call"), None)


def _layout(buffer: Any) -> Any | None:
    """Return the layout of a buffer; None where it has no memory of its own."""
    layout = buffer.maybe_get_layout() if hasattr(buffer, "maybe_get_layout") else None
    return layout if hasattr(layout, "stride") else None


def _size_bytes(layout: Any | None) -> int:
    """Return the size of the storage of a layout; 0 where there is none."""
    if layout is None:
        return 0
    sizes, strides = list(map(int, layout.size)), list(map(int, layout.stride))
    if 0 in sizes:
        return 0
    span = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1
    return (int(layout.offset) + span) * int(layout.dtype.itemsize)
