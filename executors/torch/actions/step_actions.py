"""Actions of a step: a graph plan as a flat list of functions, made once and run in each step.

What an instruction consists of is known before it runs: which views it reads, what it calls, which
registers are free then, and which gradients are complete. Each of these is a function of the
registers, so that a step runs one after the other and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from jettison.torch.actions.call_functions import CallFunctions, Function, Values
from jettison.torch.actions.generator_state import GeneratorState
from jettison.torch.graph_steps.instructions import Delivery, Instruction
from jettison.torch.graph_steps.plan import GraphPlan

if TYPE_CHECKING:
    from jettison.torch.graph_steps.run import StepTensors

Action = Callable[[Values], None]
Accumulate = Callable[[Tensor, Tensor], None]


class StepActions:
    """Actions of a plan.

    Parameters
    ----------
    plan
        The plan.
    tensors
        The parameters and buffers.
    accumulate
        Adds to the gradient of a parameter.

    Attributes
    ----------
    values
        What the registers hold when a step begins.
    forward, backward
        The actions of both parts.
    """

    def __init__(self, plan: GraphPlan, tensors: StepTensors, accumulate: Accumulate) -> None:
        self._calls = CallFunctions(list(plan.registers))
        self._tensors = tensors
        self._accumulate = accumulate
        # Of each node that draws and runs again: where the state of its generator is kept.
        self._states: dict[Any, int] = {}
        self.forward = self._actions(plan.forward)
        self.backward = self._actions(plan.backward)
        self.values: tuple[Any, ...] = tuple(self._calls.values)

    def _actions(self, instructions: Sequence[Instruction]) -> tuple[Action, ...]:
        found: list[Action] = []
        for item in instructions:
            if item.stale:
                found.append(_free(item.stale))
            found += [_store(self._calls.of(view.call), view.register) for view in item.views]
            found += self._call(item)
            for delivery in item.deliveries:
                found += self._delivery(delivery)
        return tuple(found)

    def _call(self, item: Instruction) -> list[Action]:
        ends = tuple(item.ends)
        if item.call is None:
            moves = [_move(place, register) for place, register in item.stored]
            return [*moves, _free(ends)] if ends else moves
        function = self._calls.of(item.call)
        if item.device is not None:
            if item.node not in self._states:
                self._states[item.node] = self._calls.register()
            function = _drawing(function, self._states[item.node], item.device)
        if _is_one_tensor(item):
            if len(item.stored) == 1:
                return [_store(function, item.stored[0][1], ends)]
            return [_store_to_all(function, [register for _, register in item.stored], ends)]
        return [_store_parts(function, item.stored, ends)]

    def _delivery(self, delivery: Delivery) -> list[Action]:
        views = [_store(self._calls.of(view.call), view.register) for view in delivery.views]
        holder, name = self._tensors.place(delivery.parameter)
        register, ends, accumulate = delivery.register, delivery.ends, self._accumulate

        def give(values: Values) -> None:
            gradient = values[register]
            for at in ends:
                values[at] = None
            accumulate(holder[name], gradient)

        def give_copy(values: Values) -> None:
            gradient = values[register].clone()
            for at in ends:
                values[at] = None
            accumulate(holder[name], gradient)

        return [*views, give_copy if delivery.is_shared else give]


def _is_one_tensor(item: Instruction) -> bool:
    """Whether a call returns a tensor, by its trace; the gradient of the loss is one."""
    return isinstance(item.node.meta.get("val"), Tensor)


def _free(registers: Sequence[int]) -> Action:
    if len(registers) == 1:
        (register,) = registers

        def free_one(values: Values) -> None:
            values[register] = None

        return free_one

    def free(values: Values) -> None:
        for at in registers:
            values[at] = None

    return free


def _move(source: int, register: int) -> Action:
    def move(values: Values) -> None:
        values[register] = values[source]

    return move


def _store(function: Function, register: int, ends: Sequence[int] = ()) -> Action:
    """Return the action that keeps a result, and frees registers then."""
    if not ends:

        def store(values: Values) -> None:
            values[register] = function(values)

        return store
    if len(ends) == 1:
        (end,) = ends

        def store_and_free_one(values: Values) -> None:
            values[register] = function(values)
            values[end] = None

        return store_and_free_one

    def store_and_free(values: Values) -> None:
        values[register] = function(values)
        for at in ends:
            values[at] = None

    return store_and_free


def _store_to_all(function: Function, registers: Sequence[int], ends: Sequence[int]) -> Action:
    def store(values: Values) -> None:
        result = function(values)
        for at in registers:
            values[at] = result
        for at in ends:
            values[at] = None

    return store


def _store_parts(
    function: Function, stored: Sequence[tuple[int, int]], ends: Sequence[int]
) -> Action:
    def store(values: Values) -> None:
        result = function(values)
        for place, register in stored:
            values[register] = result[place]
        # What is not stored is free before the next operation runs.
        del result
        for at in ends:
            values[at] = None

    return store


def _drawing(function: Function, state: int, device: torch.device) -> Function:
    """Return a function that repeats the random draw of its first call in a step."""

    def draw(values: Values) -> Any:
        if values[state] is None:
            values[state] = GeneratorState(device)
            return function(values)
        now = GeneratorState(device)
        values[state].put_back()
        try:
            return function(values)
        finally:
            now.put_back()

    return draw
