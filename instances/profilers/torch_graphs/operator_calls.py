"""Calls of the operations of a trace one by one, on tensors that the caller holds.

Views are made anew for each operation: they take no memory, and nothing has to be known of them
when a tensor leaves memory and comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from jettison.instances.profilers.torch_graphs.graph_calls import Call, TraceRegisters, View
from jettison.instances.profilers.torch_graphs.operation_reader import (
    TracedOperation,
    mask_place,
    selected_places,
)
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
)

Tensors = dict[int, Tensor]


@dataclass(frozen=True, slots=True)
class Made:
    """Results of an operation: those that stay, by register, and those that nothing reads."""

    stored: Tensors
    unread: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """Call of one operation of a trace.

    Attributes
    ----------
    name
        Name of the operation.
    reads
        Registers of the results and resident tensors that it reads.
    views
        Views on the way to its arguments.
    call
        The call; None for a selection, whose results move to registers of their own.
    stored
        Positions of the results that stay, each with its register; for a selection pairs of
        registers.
    """

    name: str
    reads: tuple[int, ...]
    views: tuple[View, ...]
    call: Call | None
    stored: tuple[tuple[int, int], ...]

    def on(self, tensors: Mapping[int, Tensor]) -> Made:
        """Run the operation on the tensors in its registers."""
        frame: dict[int, Any] = {register: tensors[register] for register in self.reads}
        if self.call is None:
            return Made({register: frame[place] for place, register in self.stored}, ())
        for view in self.views:
            frame[view.register] = view.call.on(frame)
        result = self.call.on(frame)
        results = [result] if isinstance(result, Tensor) else list(result)
        kept = {place for place, _ in self.stored}
        return Made(
            {register: results[place] for place, register in self.stored},
            tuple(
                item
                for place, item in enumerate(results)
                if place not in kept and isinstance(item, Tensor)
            ),
        )


def operator_calls(traced: TracedStep, registers: TraceRegisters) -> tuple[OperatorCall, ...]:
    """Return the call of each operation of a trace, in order."""
    selected = selected_places(traced.operations)
    return tuple(_call(item, registers, selected) for item in traced.operations)


def _call(
    item: TracedOperation, registers: TraceRegisters, selected: Mapping[Any, Sequence[int]]
) -> OperatorCall:
    node = item.node
    if item.is_selection:
        pairs = tuple(
            (registers.of((node, ~place)), registers.of((node, place))) for place in item.part
        )
        return OperatorCall(item.name, tuple(before for before, _ in pairs), (), None, pairs)
    arguments = node.all_input_nodes
    changes = {}
    masked = mask_place(node.target, node.args)
    if masked is not None:
        mask: Sequence[bool] = node.args[masked]
        changes[masked] = [asked and place in item.part for place, asked in enumerate(mask)]
    # What a selection takes over stands in a register of its own until then.
    away = selected.get(node, ())
    return OperatorCall(
        name=item.name,
        reads=tuple(registers.of(source) for source in registers.sources(arguments)),
        views=tuple(registers.views(arguments).values()),
        call=registers.call(node, changes),
        stored=tuple(
            (place, registers.of((node, ~place if place in away else place)))
            for place in item.stored
        ),
    )
