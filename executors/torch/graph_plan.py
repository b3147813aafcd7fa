"""What is known of a graph schedule before it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import fx

from jettison.instances.errors import InputError
from jettison.instances.profilers.traced_step import (
    Source,
    TracedOperation,
    TracedStep,
    is_random,
    mask_place,
    source_of,
)
from jettison.schedules.graph_schedule import GraphOperationKind, GraphSchedule
from jettison.torch.graph_values import Fill, Reading


@dataclass(frozen=True, slots=True)
class Computation:
    """One call of an operator, which computes one node of the schedule, or two of the same trace.

    Attributes
    ----------
    node
        Where it stands in the trace.
    reading, fill
        What it reads, and its arguments.
    stored
        The places of the results that stay, each with the one that it is stored at: what a
        selection of the node may hold is stored at ``~place``.
    device
        Of the generator that it draws from, where it draws and is repeated; else None.
    """

    node: fx.Node
    reading: Reading
    fill: Fill
    stored: tuple[tuple[int, int], ...]
    device: torch.device | None


@dataclass(frozen=True, slots=True)
class Selection:
    """The results of a node that stay when the others go."""

    node: fx.Node
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deletion:
    """The end of results."""

    sources: tuple[Source, ...]


Instruction = Computation | Selection | Deletion


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """A schedule of a traced step, ready to run many times.

    Attributes
    ----------
    instructions
        The schedule.
    backward
        The place of the instruction that needs the gradient of the loss: the caller's turn.
    makers
        The results that are new values of buffers, or that these are views of, by their node.
    new_buffers
        How to read the new value of each buffer, by its name.
    gradients
        How to read the gradient of each trained parameter, by its name, and the result that it is
        or of which it is a view.
    deliveries
        For each instruction, the parameters whose gradients nobody reads any more when it has run.
    shared
        Results that are the gradient of several parameters.
    old_buffers
        Placeholders of the buffers whose old contents are read in the backward part, though the
        step writes to them.
    """

    instructions: tuple[Instruction, ...]
    backward: int
    makers: Mapping[fx.Node, tuple[int, ...]]
    new_buffers: Mapping[str, Reading]
    gradients: Mapping[str, tuple[Reading, Source]]
    deliveries: tuple[tuple[str, ...], ...]
    shared: frozenset[Source]
    old_buffers: tuple[fx.Node, ...]

    @classmethod
    def of(cls, schedule: GraphSchedule, traced: TracedStep) -> GraphPlan:
        """Analyse a schedule that the replay accepts.

        Raises
        ------
        InputError
            If operations that draw random numbers run first in another order than in the model:
            they would draw others.
        """
        _check_draws(schedule, traced.operations)
        repeats = Counter(schedule.computations)
        selected = {item.node: item.part for item in traced.operations if item.is_selection}
        instructions: list[Instruction] = []
        previous: int | None = None
        for operation in schedule.operations:
            entry = traced.operations[operation.node]
            if operation.kind is GraphOperationKind.FREE:
                places = [at for _, at in _stored(entry, selected)]
                instructions.append(Deletion(tuple((entry.node, at) for at in places)))
                previous = None
                continue
            if entry.is_selection:
                instructions.append(Selection(entry.node, entry.part))
                previous = None
                continue
            parts = [entry]
            if previous is not None and _is_other_part(traced.operations[previous], entry):
                parts.insert(0, traced.operations[previous])
                instructions.pop()
                previous = None
            else:
                previous = operation.node
            instructions.append(
                _computation(parts, traced, selected, repeated=repeats[operation.node] > 1)
            )
        backward = next(
            place
            for place, item in enumerate(instructions)
            if isinstance(item, Computation) and item.node is traced.seed
        )
        gradients = {name: source_of(node) for name, node in traced.gradients.items()}
        holders = Counter(gradients.values())
        new_buffers = {name: Reading([node], traced) for name, node in traced.new_buffers.items()}
        late = [item.reading for item in instructions[backward:] if isinstance(item, Computation)]
        read_late = {
            node for reading in (*late, *new_buffers.values()) for node, _ in reading.sources
        }
        makers: dict[fx.Node, tuple[int, ...]] = {}
        for node, place in dict.fromkeys(
            source for reading in new_buffers.values() for source in reading.sources
        ):
            if node.op != "placeholder":
                makers[node] = (*makers.get(node, ()), place)
        return cls(
            instructions=tuple(instructions),
            backward=backward,
            makers=makers,
            new_buffers=new_buffers,
            gradients={
                name: (Reading([node], traced), gradients[name])
                for name, node in traced.gradients.items()
            },
            deliveries=_deliveries(instructions, gradients),
            shared=frozenset(source for source, count in holders.items() if count > 1),
            old_buffers=tuple(
                node
                for node in traced.module.graph.nodes
                if traced.buffers.get(node.name) in new_buffers and node in read_late
            ),
        )


def _stored(
    entry: TracedOperation, selected: Mapping[fx.Node, tuple[int, ...]]
) -> list[tuple[int, int]]:
    if entry.is_selection:
        return [(place, place) for place in entry.stored]
    away = selected.get(entry.node, ())
    return [(place, ~place if place in away else place) for place in entry.stored]


def _check_draws(schedule: GraphSchedule, operations: Sequence[TracedOperation]) -> None:
    drawn = [
        node
        for node in dict.fromkeys(schedule.computations)
        if is_random(operations[node].node) and not operations[node].is_selection
    ]
    for before, after in pairwise(drawn):
        if before > after:
            raise InputError(
                f"{operations[before].name} draws random numbers before {operations[after].name}",
                field="schedule",
                expected="keep the model's order of such operations, or it draws other numbers",
            )


def _is_other_part(first: TracedOperation, second: TracedOperation) -> bool:
    # What the first part leaves unread is freed before the second runs; in one call it is not.
    return (
        first.node is second.node
        and set(first.part).isdisjoint(second.part)
        and not first.unread_bytes
    )


def _computation(
    parts: Sequence[TracedOperation],
    traced: TracedStep,
    selected: Mapping[fx.Node, tuple[int, ...]],
    *,
    repeated: bool,
) -> Computation:
    node = parts[0].node
    made = {place for part in parts for place in part.part}
    masked = mask_place(node)
    changes = {}
    if masked is not None:
        asked: Sequence[bool] = node.args[masked]
        changes[masked] = [wanted and place in made for place, wanted in enumerate(asked)]
    device = None
    if repeated and is_random(node):
        device = next(result.device for result in parts[0].results if result is not None)
    return Computation(
        node=node,
        reading=Reading(node.all_input_nodes, traced),
        fill=Fill(node, changes),
        stored=tuple(pair for part in parts for pair in _stored(part, selected)),
        device=device,
    )


def _deliveries(
    instructions: Sequence[Instruction], gradients: dict[str, Source]
) -> tuple[tuple[str, ...], ...]:
    last: dict[Source, int] = {}
    for place, item in enumerate(instructions):
        if isinstance(item, Computation):
            last.update(dict.fromkeys(item.reading.sources, place))
            last.update({(item.node, at): place for _, at in item.stored})
    found: list[list[str]] = [[] for _ in instructions]
    for name, source in gradients.items():
        found[last[source]].append(name)
    return tuple(map(tuple, found))
