"""Walk through the code of a pass: what it allocates, reuses and lets go, line by line.

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

from jettison.instances.profilers.kernels.kernel_call import KernelCall
from jettison.torch.compilation.inductor.code_calls import library_call
from jettison.torch.compilation.inductor.generated_code import GeneratedCode, running_function


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
    made
        For each buffer that is a value of the plan, in order, the name of its operator, and how
        much is in memory while it is made, with what the library takes that makes it.
    workspaces_bytes
        What calls of libraries take beside their results, by the names of their operators.
    """

    peak_bytes: int
    returned: tuple[tuple[int, int] | None, ...]
    made: tuple[tuple[str, int], ...] = ()
    workspaces_bytes: Mapping[str, int] = field(default_factory=dict)


def pass_memory(
    code: GeneratedCode,
    inputs_bytes: Mapping[str, int],
    rises: Mapping[KernelCall, int] | None = None,
) -> PassMemory | None:
    """Return the memory of a pass whose inputs count with these sizes, by default with none.

    `rises` has by how many bytes the memory in use rises while a library runs; calls that are not
    in it count as allocating their results. :math:`O(n)` for `n` lines.
    """
    call = running_function(code)
    if call is None:
        return None
    walk = _Walk(code, inputs_bytes, {} if rises is None else rises, _parts_bytes(code, call))
    walk.run(call.body)
    made = tuple((code.operators[name], count) for name, count in walk.made.items())
    return PassMemory(walk.peak_bytes, tuple(walk.returned), made, walk.workspaces_bytes)


def library_calls(code: GeneratedCode) -> list[KernelCall]:
    """Return the calls of libraries in a pass."""
    call = running_function(code)
    lines = [] if call is None else [item for item in ast.walk(call) if isinstance(item, ast.stmt)]
    values = [line.value for line in lines if isinstance(line, ast.Assign | ast.Expr)]
    described = (library_call(value, code.layouts) for value in values)
    return [item for item in described if item is not None]


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
    # Names are bound in the order in which buffers are made.
    made: dict[str, int] = field(default_factory=dict)
    workspaces_bytes: dict[str, int] = field(default_factory=dict)
    _used_bytes: int = 0
    # The most since the last value of the plan was made.
    _since_bytes: int = 0
    _storage_of: dict[str, int] = field(default_factory=dict)
    _size_of: list[int] = field(default_factory=list)
    _inputs: set[int] = field(default_factory=set)
    _names: Counter[int] = field(default_factory=Counter)

    def run(self, lines: Sequence[ast.stmt]) -> None:
        """Walk through lines in order."""
        for line in lines:
            if isinstance(line, ast.Assign) and len(line.targets) == 1:
                target = line.targets[0]
                used = self._call(line.value, target)
                self._assign(target, line.value)
                if _tuple_of(line.value) is None:
                    self._note(target, used)
            elif isinstance(line, ast.Expr):
                written = _written(line.value)
                self._note(written, self._call(line.value, written))
            elif isinstance(line, ast.Delete):
                for target in line.targets:
                    self._unbind(ast.unparse(target))
            elif isinstance(line, ast.Return):
                items = line.value.elts if isinstance(line.value, ast.Tuple) else [line.value]
                self.returned = [self._result(item) for item in items]
            elif isinstance(line, ast.With):
                self.run(line.body)

    def _call(self, value: ast.expr, target: ast.expr | None) -> int:
        """Count what a library allocates while it runs, with its arguments; return all of it."""
        described = library_call(value, self.code.layouts) if self.rises else None
        rise = 0 if described is None else self.rises.get(described, 0)
        self._see(self._used_bytes + rise)
        operator = self.code.operators.get(_name_of(target))
        if described in self.rises and operator is not None:
            name = _name_of(target)
            sizes = self.code.sizes_bytes
            results = 0 if name in self._storage_of else self.parts_bytes.get(name, sizes.get(name))
            before = self.workspaces_bytes.get(operator, 0)
            self.workspaces_bytes[operator] = max(before, rise - (results or 0))
        return self._used_bytes + rise

    def _see(self, used_bytes: int) -> None:
        self.peak_bytes = max(self.peak_bytes, used_bytes)
        self._since_bytes = max(self._since_bytes, used_bytes)

    def _note(self, target: ast.expr | None, used_bytes: int) -> None:
        """Note how much is in memory while a value of the plan is made, and its copies before."""
        name = _name_of(target)
        if name in self.code.operators:
            seen = max(used_bytes, self._used_bytes, self._since_bytes)
            self.made[name] = max(self.made.get(name, 0), seen)
            self._since_bytes = 0

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
        self._see(self._used_bytes)

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


def _name_of(target: ast.expr | None) -> str:
    """Return the name that a target is; an empty one where it is something else."""
    return target.id if isinstance(target, ast.Name) else ""


def _written(value: ast.expr) -> ast.expr | None:
    """Return the buffer that a call writes to (``out=``)."""
    keywords = value.keywords if isinstance(value, ast.Call) else []
    return next((item.value for item in keywords if item.arg == "out"), None)


def _aliased(value: ast.expr) -> str | None:
    """Return the name that an expression is a view of; results of a call are no views of it."""
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "reinterpret_tensor":
        return _aliased(value.args[0])
    return None
