"""Instructions of a graph schedule: calls of operators, and the registers to free after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, fx

from jettison.instances.profilers.torch_graphs.graph_calls import (
    Call,
    Registers,
    TraceRegisters,
    View,
)
from jettison.instances.profilers.torch_graphs.operation_reader import (
    Source,
    TracedOperation,
    is_random,
    mask_place,
    selected_places,
)
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
)
from jettison.schedules.remat_graph.schedule import GraphOperationKind, GraphSchedule


@dataclass(frozen=True, slots=True)
class Delivery:
    """Gradient of a parameter, to be accumulated into it.

    Attributes
    ----------
    parameter
        Its name.
    views, register
        Views on the way to it, and its register.
    ends
        Registers to free afterwards.
    is_shared
        Whether something else holds the same memory, so that it has to be copied.
    """

    parameter: str
    views: tuple[View, ...]
    register: int
    ends: tuple[int, ...]
    is_shared: bool


@dataclass(slots=True)
class Instruction:
    """Instruction: one call of an operator, for one or two nodes of the schedule.

    A selection of results calls nothing: they move to registers of their own.

    Attributes
    ----------
    node
        Node of the trace.
    sources
        The results and resident tensors that it reads.
    stale
        Registers of views of an older result, which it replaces.
    views
        Views that it reads and that are not there yet.
    call
        The call; None for a selection.
    stored
        Positions of the results that stay, each with its register; for a selection pairs of
        registers.
    device
        Device of the generator that it draws from, where it draws and is repeated; else None.
    ends
        Registers to free when it has run.
    deliveries
        Gradients that are complete when it has run.
    """

    node: fx.Node
    sources: tuple[Source, ...]
    stale: tuple[int, ...]
    views: tuple[View, ...]
    call: Call | None
    stored: tuple[tuple[int, int], ...]
    device: torch.device | None = None
    ends: list[int] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)

    @property
    def makes(self) -> Iterable[int]:
        """The registers that it fills with results."""
        return (register for _, register in self.stored)

    def on(self, registers: Registers) -> None:
        """Run the instruction on the registers."""
        for register in self.stale:
            registers[register] = None
        if self.call is None:
            for place, register in self.stored:
                registers[register] = registers[place]
            return
        for view in self.views:
            registers[view.register] = view.call.on(registers)
        result = self.call.on(registers)
        if isinstance(result, Tensor):
            for _, register in self.stored:
                registers[register] = result
        else:
            for place, register in self.stored:
                registers[register] = result[place]


class InstructionList:
    """Builder of the instructions of a schedule.

    A view is made when it is read first, and kept as long as what it views.

    Parameters
    ----------
    traced, registers
        The trace, and its registers.
    seed
        The register of the gradient of the loss, which is given and not computed.
    first
        Sources whose values at their first run also get registers of their own.
    """

    def __init__(
        self, traced: TracedStep, registers: TraceRegisters, seed: int, first: Iterable[Source]
    ) -> None:
        self.instructions: list[Instruction] = []
        self._traced = traced
        self._registers = registers
        self._seed = seed
        self._first = set(first)
        self._selected = selected_places(traced.operations)
        self._views: dict[Source, dict[fx.Node, int]] = {}
        self._repeats: Counter[str] = Counter()

    def extend(self, schedule: GraphSchedule) -> None:
        """Append the instructions of a schedule."""
        entries = self._traced.operations
        self._repeats = Counter(entries[node].name for node in schedule.computations)
        # Computed next, perhaps in one call with the computation that follows.
        waiting: TracedOperation | None = None
        for operation in schedule.operations:
            entry = entries[operation.node]
            is_computation = operation.kind is not GraphOperationKind.FREE
            if waiting is not None:
                if is_computation and self._may_join(waiting, entry):
                    self._compute([waiting, entry])
                    waiting = None
                    continue
                self._compute([waiting])
                waiting = None
            if not is_computation:
                self.instructions[-1].ends += self._ends(entry)
            elif entry.is_selection:
                self._select(entry)
            else:
                waiting = entry
        if waiting is not None:
            self._compute([waiting])

    def _may_join(self, first: TracedOperation, second: TracedOperation) -> bool:
        """Whether two operations are parts of one node, and need no more memory in one call."""
        if not _is_other_part(first, second):
            return False
        joint_bytes = self._traced.joint_bytes.get(first.node, 0)
        # While a joint call runs, its results are there as they are while the second part runs.
        return joint_bytes is not None and joint_bytes <= second.workspace_bytes

    def _compute(self, parts: Sequence[TracedOperation]) -> None:
        node, registers = parts[0].node, self._registers
        arguments = [] if node is self._traced.seed else node.all_input_nodes
        stored = [pair for part in parts for pair in self._stored(part)]
        for place in (place for part in parts for place in part.part):
            if (node, place) in self._first:
                self._first.remove((node, place))
                stored.append((place, registers.of((node, place), first=True)))
        device = None
        if self._repeats[parts[0].name] > 1 and is_random(node):
            device = next(result.device for result in parts[0].results if result is not None)
        stale = [register for part in parts for register in self._drop_views(part)]
        self.instructions.append(
            Instruction(
                node=node,
                sources=registers.sources(arguments),
                stale=tuple(stale),
                views=self._new_views(arguments),
                call=self._call(parts),
                stored=tuple(stored),
                device=device,
            )
        )

    def _call(self, parts: Sequence[TracedOperation]) -> Call:
        node = parts[0].node
        if node is self._traced.seed:
            return self._registers.given(self._seed)
        masked = mask_place(node.target, node.args)
        if masked is None:
            return self._registers.call(node)
        made = {place for part in parts for place in part.part}
        asked: Sequence[bool] = node.args[masked]
        mask = [wanted and place in made for place, wanted in enumerate(asked)]
        return self._registers.call(node, {masked: mask})

    def _select(self, entry: TracedOperation) -> None:
        registers, node = self._registers, entry.node
        self.instructions.append(
            Instruction(
                node=node,
                sources=(),
                stale=tuple(self._drop_views(entry)),
                views=(),
                call=None,
                stored=tuple(
                    (registers.of((node, ~place)), registers.of((node, place)))
                    for place in entry.part
                ),
            )
        )

    def _stored(self, entry: TracedOperation) -> list[tuple[int, int]]:
        """Return the positions of results that stay, without those that a selection holds."""
        away = self._away(entry)
        return [
            (place, self._registers.of((entry.node, ~place if place in away else place)))
            for place in entry.stored
        ]

    def _away(self, entry: TracedOperation) -> Sequence[int]:
        """Return the positions of results that a selection of the same call takes over."""
        return () if entry.is_selection else self._selected.get(entry.node, ())

    def _ends(self, entry: TracedOperation) -> list[int]:
        return [*(register for _, register in self._stored(entry)), *self._drop_views(entry)]

    def _drop_views(self, entry: TracedOperation) -> list[int]:
        """Forget the present views of the results of an operation; return their registers."""
        away = self._away(entry)
        return [
            register
            for place in entry.stored
            if place not in away
            for register in self._views.pop((entry.node, place), {}).values()
        ]

    def _new_views(self, nodes: Iterable[fx.Node]) -> tuple[View, ...]:
        found = []
        for node, view in self._registers.views(nodes).items():
            there = [self._views.setdefault(item, {}) for item in self._registers.sources([node])]
            if any(node not in views for views in there):
                found.append(view)
                for views in there:
                    views[node] = view.register
        return tuple(found)


def _is_other_part(first: TracedOperation, second: TracedOperation) -> bool:
    # Unread results of the first part are freed before the second runs; in one call they are not.
    return (
        first.node is second.node
        and set(first.part).isdisjoint(second.part)
        and not second.is_selection
        and not first.unread_bytes
    )
