"""Code that Inductor generated for a pass, with the sizes and the operators of its buffers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch._inductor.ir import MutationLayoutSHOULDREMOVE
from torch._inductor.virtualized import V

from jettison.torch.compilation.graph_writer import PLANNED
from jettison.torch.compilation.inductor.code_calls import BufferLayout


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
    operators
        For buffers that are values of the plan, the names of their operators in the joint graph.
    """

    text: str
    sizes_bytes: Mapping[str, int]
    is_backward: bool
    layouts: Mapping[str, BufferLayout] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)

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
        operators = {name: _operator_of(buffer) for name, buffer in graph.name_to_buffer.items()}
        return cls(
            text,
            sizes,
            bool(graph.is_backward),
            known,
            {name: found for name, found in operators.items() if found is not None},
        )


def running_function(code: GeneratedCode) -> ast.FunctionDef | None:
    """Return the function that runs the pass; None if the code is in several partitions."""
    functions = [
        item for item in ast.walk(ast.parse(code.text)) if isinstance(item, ast.FunctionDef)
    ]
    if any(item.name.startswith("partition_") for item in functions):
        return None
    return next((item for item in functions if item.name == "call"), None)


def input_names(code: GeneratedCode) -> list[str] | None:
    """Return the names of the inputs, in order."""
    call = running_function(code)
    if call is None:
        return None
    for line in call.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.value) == "args":
            (target,) = line.targets
            items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            return [ast.unparse(item) for item in items]
    return []


def _layout(buffer: Any) -> Any | None:
    """Return the layout of a buffer; None where it has no memory of its own."""
    layout = buffer.maybe_get_layout() if hasattr(buffer, "maybe_get_layout") else None
    # What is written into another buffer has the strides of that one, and its own sizes.
    if isinstance(layout, MutationLayoutSHOULDREMOVE):
        return None
    return layout if hasattr(layout, "stride") else None


def _operator_of(buffer: Any) -> str | None:
    """Return the name of the operator of the joint graph whose value a buffer is."""
    if not hasattr(buffer, "get_origins"):
        return None
    origin = buffer.get_origin_node()
    origins = [origin] if origin is not None else list(buffer.get_origins())
    target = getattr(buffer, "op_overload", None)
    if origin is None and target is None:
        return None
    # A call with several results is of one operator, but made of all that its copies compute.
    named = {
        item.meta[PLANNED]
        for item in origins
        if PLANNED in item.meta and (origin is not None or item.target is target)
    }
    return named.pop() if len(named) == 1 else None


def _size_bytes(layout: Any | None) -> int:
    """Return the size of the storage of a layout; 0 where there is none."""
    if layout is None:
        return 0
    sizes, strides = list(map(int, layout.size)), list(map(int, layout.stride))
    if 0 in sizes:
        return 0
    span = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1
    return (int(layout.offset) + span) * int(layout.dtype.itemsize)
