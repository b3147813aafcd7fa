"""Steps of a graph schedule in recorded segments: forward and backward part, at fixed addresses.

The first step runs operator by operator, the second is recorded, and later ones are launched. All
of them use one set of memory, so that one step at a time is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.instances.profilers.torch_graphs.graph_calls import Registers
from jettison.torch.captured.segments import SegmentRecorder, Work, segment_recorder
from jettison.torch.errors import ExecutionError
from jettison.torch.graph_steps.instructions import Instruction
from jettison.torch.graph_steps.plan import GraphPlan
from jettison.torch.graph_steps.run import StepTensors, accumulate, write_buffers
from jettison.torch.step_conditions import UnchangedTensors


class CapturedRun:
    """Runner of one step after another by a schedule, from the same memory.

    Inputs are copied to where the segments read them; gradients are written to buffers that belong
    to the run, and become those of the parameters when the backward part has ended.

    Parameters
    ----------
    plan
        The schedule; no operation of it draws random numbers.
    tensors
        The parameters and buffers.
    device
        The device of the step.
    """

    def __init__(self, plan: GraphPlan, tensors: StepTensors, device: torch.device) -> None:
        self._plan = plan
        self._tensors = tensors
        self._device = device
        self._inputs: tuple[Tensor, ...] = ()
        self._seed: Tensor | None = None
        self._loss: Tensor | None = None
        self._gradients: dict[str, Tensor] = {}
        self._registers: Registers = []
        self._held: UnchangedTensors | None = None
        self._step = 0
        self._recorder: SegmentRecorder | None = None
        self._forward_again: Work | None = None
        self._backward_again: Work | None = None
        self._is_warm = False
        self._addresses: tuple[int, ...] = ()

    def forward(self, inputs: Sequence[Tensor]) -> tuple[int, Tensor]:
        """Run the forward part of a step; return the number of the step and its loss."""
        addresses = self._resident_addresses()
        if addresses != self._addresses:
            # Recorded segments would read the old tensors.
            self._forget()
            self._addresses = addresses
        if not self._inputs:
            self._inputs = tuple(item.clone() for item in inputs)
        else:
            for mine, item in zip(self._inputs, inputs, strict=True):
                mine.copy_(item)
        self._step += 1
        with torch.no_grad():
            if self._forward_again is not None:
                self._forward_again()
            elif self._is_warm:
                self._recorder = segment_recorder(self._device)
                self._forward_again = self._recorder.record(self._forward_part)
            else:
                self._forward_part()
        self._held = UnchangedTensors(self._unchanged())
        assert self._loss is not None
        return self._step, self._loss.clone()

    def backward(self, step: int, gradient: Tensor) -> None:
        """Run the backward part of a step, and give the parameters their gradients.

        Raises
        ------
        ExecutionError
            If the step has run backward before, or another has begun; if parameters or buffers have
            changed since.
        """
        if step != self._step or self._held is None:
            raise ExecutionError(
                "this step has run backward already, or another one has begun: recorded steps share"
                " one memory; run each backward before the next, or use CheckpointedStep"
            )
        self._held.check(self._unchanged())
        self._held = None
        for name, buffer in self._gradients.items():
            if self._tensors[name].grad is buffer:
                # It was kept to be added to.
                self._tensors[name].grad = buffer.clone()
        if self._seed is None:
            self._seed = gradient.clone()
        else:
            self._seed.copy_(gradient)
        with torch.no_grad():
            if self._backward_again is not None:
                self._backward_again()
            elif self._recorder is not None:
                self._backward_again = self._recorder.record(self._backward_part)
            else:
                self._backward_part()
                self._is_warm = True
            for name, buffer in self._gradients.items():
                accumulate(self._tensors[name], buffer)

    def _forget(self) -> None:
        """Drop the segments: those that follow run as if they were the first."""
        self._recorder = self._forward_again = self._backward_again = None
        self._is_warm = False
        self._registers = []

    def _forward_part(self) -> None:
        plan = self._plan
        registers: Registers = list(plan.registers)
        self._registers = registers
        for register, tensor in zip(plan.inputs, self._inputs, strict=True):
            registers[register] = tensor
        for register, name in plan.resident:
            registers[register] = self._tensors[name]
        for register in plan.old_buffers:
            registers[register] = registers[register].clone()
        self._run(plan.forward)
        write_buffers(plan, registers, self._tensors)
        for view in plan.loss_views:
            registers[view.register] = view.call.on(registers)
        self._loss = registers[plan.loss].clone()
        for view in plan.loss_views:
            registers[view.register] = None

    def _backward_part(self) -> None:
        self._registers[self._plan.seed] = self._seed
        self._run(self._plan.backward)
        self._registers = []

    def _run(self, instructions: Sequence[Instruction]) -> None:
        registers = self._registers
        with AutocastState.current(self._device).switched_off().restored():
            for item in instructions:
                item.on(registers)
                for register in item.ends:
                    registers[register] = None
                for delivery in item.deliveries:
                    for view in delivery.views:
                        registers[view.register] = view.call.on(registers)
                    self._buffer_of(delivery.parameter).copy_(registers[delivery.register])
                    for register in delivery.ends:
                        registers[register] = None

    def _buffer_of(self, name: str) -> Tensor:
        # Made in the first step, before anything is recorded.
        if name not in self._gradients:
            self._gradients[name] = torch.empty_like(self._tensors[name], requires_grad=False)
        return self._gradients[name]

    def _unchanged(self) -> list[Tensor]:
        return [self._tensors[name] for name in self._plan.unchanged]

    def _resident_addresses(self) -> tuple[int, ...]:
        return tuple(self._tensors[name].data_ptr() for _, name in self._plan.resident)


class CapturedStepRun:
    """Run of one step, as the autograd function of a step calls it."""

    def __init__(self, run: CapturedRun, inputs: Sequence[Tensor]) -> None:
        self._run = run
        self._inputs = inputs
        self._step = 0

    def forward(self) -> Any:
        """Run the forward part; return the loss."""
        self._step, loss = self._run.forward(self._inputs)
        return loss

    def backward(self, gradient: Tensor) -> None:
        """Run the backward part."""
        self._run.backward(self._step, gradient)
