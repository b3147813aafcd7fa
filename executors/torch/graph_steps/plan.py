"""Execution plan of a graph schedule: what is worked out once, before it runs many times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_graphs.graph_calls import TraceRegisters, View
from jettison.instances.profilers.torch_graphs.operation_reader import (
    Source,
    TracedOperation,
    is_random,
    source_of,
)
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
)
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.torch.graph_steps.instructions import Delivery, Instruction, InstructionList


@dataclass(frozen=True, slots=True)
class NewBuffers:
    """New values of buffers: where to read them at the end of the forward part.

    Attributes
    ----------
    views
        Views on the way to them, and what follows from resident tensors alone.
    registers
        The register of each, by the name of the buffer.
    ends
        Registers to free when all have been written.
    made
        Names of those that operations have made, and no buffer or constant shares memory with.
    """

    views: tuple[View, ...]
    registers: Mapping[str, int]
    ends: tuple[int, ...]
    made: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """Execution plan of a schedule of a traced step: ready to run many times.

    Attributes
    ----------
    forward, backward
        The schedule; the backward part begins with what needs the gradient of the loss.
    registers
        Contents of the registers when a step begins: constants of the trace, or None.
    inputs
        Registers of the inputs.
    resident
        Registers of parameters and buffers, each with the name.
    unchanged
        Names of those that the step does not write to.
    old_buffers
        Registers of the buffers that it writes to and whose old contents its backward part reads.
    seed
        Register of the gradient of the loss, as the caller gives it.
    loss_views, loss
        Views on the way to the loss, and its register.
    new_buffers
        New values of buffers, and where to read them.
    """

    forward: tuple[Instruction, ...]
    backward: tuple[Instruction, ...]
    registers: tuple[Any, ...]
    inputs: tuple[int, ...]
    resident: tuple[tuple[int, str], ...]
    unchanged: tuple[str, ...]
    old_buffers: tuple[int, ...]
    seed: int
    loss_views: tuple[View, ...]
    loss: int
    new_buffers: NewBuffers

    @classmethod
    def of(cls, schedule: GraphSchedule, traced: TracedStep) -> GraphPlan:
        """Make the plan of a schedule that the replay accepts.

        Raises
        ------
        InputError
            If operations that draw random numbers run first in another order than in the model:
            they would draw others. If the new value of a buffer is computed after the loss: it
            would not be there when the forward pass is over.
        """
        _check_draws(schedule, traced.operations)
        registers = TraceRegisters(traced)
        seed = registers.of((traced.seed, -1))
        wanted = registers.sources(traced.new_buffers.values())
        entries = InstructionList(traced, registers, seed, wanted)
        entries.extend(schedule)
        instructions = entries.instructions
        backward = next(at for at, item in enumerate(instructions) if item.node is traced.seed)
        _check_buffers(instructions[:backward], traced, registers)
        last_read = {
            source: place for place, item in enumerate(instructions) for source in item.sources
        }
        resident = {**traced.parameters, **traced.buffers}
        places = {node.name: node for node in traced.module.graph.nodes if node.op == "placeholder"}
        for place, delivery in _deliveries(instructions, traced, registers, last_read, backward):
            instructions[place].deliveries.append(delivery)
        buffer_views = registers.views(traced.new_buffers.values(), first=True)
        loss_views = registers.views([traced.loss])
        read_late = {source for item in instructions[backward:] for source in item.sources}
        read_late.update(registers.sources(traced.gradients.values()))
        new_buffers = NewBuffers(
            views=tuple(buffer_views.values()),
            registers={
                name: registers.of_node(node, first=True)
                for name, node in traced.new_buffers.items()
            },
            ends=tuple(
                {view.register for view in buffer_views.values()}
                | {
                    registers.of(item, first=True)
                    for item in wanted
                    if item[0].op == "call_function"
                }
            ),
            made=frozenset(
                name
                for name, node in traced.new_buffers.items()
                if (found := registers.sources([node]))
                and all(item[0].op == "call_function" for item in found)
            ),
        )
        loss = registers.of_node(traced.loss)
        inputs = tuple(registers.of((places[name], 0)) for name in traced.inputs)
        return cls(
            forward=tuple(instructions[:backward]),
            backward=tuple(instructions[backward:]),
            inputs=inputs,
            resident=tuple((registers.of((places[at], 0)), name) for at, name in resident.items()),
            unchanged=tuple(name for name in resident.values() if name not in traced.new_buffers),
            old_buffers=tuple(
                registers.of((places[at], 0))
                for at, name in traced.buffers.items()
                if name in traced.new_buffers and (places[at], 0) in read_late
            ),
            seed=seed,
            loss_views=tuple(loss_views.values()),
            loss=loss,
            new_buffers=new_buffers,
            # The last, when all registers have their numbers.
            registers=_constants(traced, registers),
        )


def _constants(traced: TracedStep, registers: TraceRegisters) -> tuple[Any, ...]:
    constants = {
        registers.of((node, 0)): getattr(traced.module, str(node.target))
        for node in traced.module.graph.nodes
        if node.op == "get_attr"
    }
    return tuple(constants.get(register) for register in range(len(registers)))


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


def _check_buffers(
    forward: Iterable[Instruction], traced: TracedStep, registers: TraceRegisters
) -> None:
    made = {register for item in forward for register in item.makes}
    for name, node in traced.new_buffers.items():
        for source in registers.sources([node]):
            if source[0].op == "call_function" and registers.of(source, first=True) not in made:
                raise InputError(
                    f"{source[0].name}, of which the new value of {name} is made, runs after the"
                    " loss",
                    field="schedule",
                    expected="compute it before the gradient of the loss: buffers are updated when"
                    " the forward pass is over",
                )


def _deliveries(
    instructions: Sequence[Instruction],
    traced: TracedStep,
    registers: TraceRegisters,
    last_read: Mapping[Source, int],
    backward: int,
) -> list[tuple[int, Delivery]]:
    """Return, for each gradient, the instruction after which its parameter receives it.

    That is when nothing reads the gradient any more, nor the parameter: a hook that runs then may
    write to both. None is before the backward part begins.
    """
    last_made = {
        register: place for place, item in enumerate(instructions) for register in item.makes
    }
    parameters = {
        name: node
        for node in traced.module.graph.nodes
        if node.op == "placeholder" and (name := traced.parameters.get(node.name)) is not None
    }
    sources = {name: source_of(node) for name, node in traced.gradients.items()}
    holders = list(sources.values())
    found = []
    for name, node in traced.gradients.items():
        source = sources[name]
        register = registers.of(source)
        views = registers.views([node])
        # The step may not give away tensors of the caller, or resident ones.
        is_own = source[0].op == "call_function" and source[0] is not traced.seed
        is_shared = not is_own or holders.count(source) > 1
        delivery = Delivery(
            parameter=name,
            views=tuple(views.values()),
            register=registers.of_node(node),
            ends=() if is_shared else (register, *(view.register for view in views.values())),
            is_shared=is_shared,
        )
        ready = max(
            last_made.get(register, 0),
            last_read.get(source, 0),
            last_read.get((parameters[name], 0), 0),
            backward,
        )
        found.append((ready, delivery))
    return found
