"""Run of one training step by a graph schedule: the operations of its trace on real tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.instances.profilers.torch_graphs.graph_calls import Registers
from jettison.torch.actions.call_functions import Values
from jettison.torch.actions.step_actions import Action, StepActions
from jettison.torch.errors import ExecutionError
from jettison.torch.graph_steps.plan import GraphPlan
from jettison.torch.step_conditions import UnchangedTensors


class StepTensors:
    """Current parameters and buffers of a step, by name."""

    def __init__(self, step: nn.Module) -> None:
        self._holders: dict[str, tuple[dict[str, Any], str]] = {}
        for prefix, module in step.named_modules(remove_duplicate=False):
            start = f"{prefix}." if prefix else ""
            for tensors in (module._parameters, module._buffers):
                for name in tensors:
                    self._holders.setdefault(f"{start}{name}", (tensors, name))

    def __getitem__(self, name: str) -> Tensor:
        tensors, last = self._holders[name]
        tensor: Tensor = tensors[last]
        return tensor

    def place(self, name: str) -> tuple[Mapping[str, Any], str]:
        """Return where a tensor is looked up: in which mapping of its module, and by which name."""
        return self._holders[name]


class GraphRun:
    """Run of one step by a graph schedule, with the contents of memory.

    `forward` runs until the gradient of the loss is needed and returns the loss; `backward` takes
    that gradient and runs the rest.

    New values of buffers are written when `forward` ends; until then they take memory beside the
    buffers.

    Parameters
    ----------
    plan, actions
        The schedule, and the functions that run it.
    tensors
        The parameters and buffers.
    inputs
        Inputs of the step.
    """

    def __init__(
        self,
        plan: GraphPlan,
        actions: StepActions,
        tensors: StepTensors,
        inputs: Sequence[Tensor],
    ) -> None:
        self._plan = plan
        self._actions = actions
        self._tensors = tensors
        self._device = inputs[0].device
        self._inputs = tuple(inputs)
        self._registers: Values = list(actions.values)
        for register, tensor in zip(plan.inputs, inputs, strict=True):
            self._registers[register] = tensor
        for register, name in plan.resident:
            self._registers[register] = tensors[name]
        for register in plan.old_buffers:
            self._registers[register] = self._registers[register].clone()
        self._held: UnchangedTensors | None = UnchangedTensors(self._unchanged())
        self._is_forward_done = False

    def forward(self) -> Tensor:
        """Run up to the gradient of the loss; return the loss."""
        plan, registers = self._plan, self._registers
        with torch.no_grad():
            self._run(self._actions.forward)
            write_buffers(plan, registers, self._tensors)
            for view in plan.loss_views:
                registers[view.register] = view.call.on(registers)
            loss: Tensor = registers[plan.loss].clone()
            for view in plan.loss_views:
                registers[view.register] = None
        self._is_forward_done = True
        return loss

    def backward(self, gradient: Tensor) -> None:
        """Run the rest: gradients go to the parameters as soon as nothing reads them any more.

        Raises
        ------
        ExecutionError
            If it has run before; if parameters, inputs or buffers have changed since.
        """
        if not self._is_forward_done or self._held is None:
            raise ExecutionError(
                "this step has run backward already, and a schedule keeps nothing for a second "
                "time (retain_graph=True changes nothing); run the step again"
            )
        self._held.check(self._unchanged())
        self._registers[self._plan.seed] = gradient
        try:
            with torch.no_grad():
                self._run(self._actions.backward)
        finally:
            self._is_forward_done = False
            self._inputs = ()
            self._registers.clear()
            self._held = None

    def _unchanged(self) -> list[Tensor]:
        """Return the tensors that the step reads and does not write to."""
        return [*self._inputs, *(self._tensors[name] for name in self._plan.unchanged)]

    def _run(self, actions: Sequence[Action]) -> None:
        registers = self._registers
        with AutocastState.current(self._device).switched_off().restored():
            for action in actions:
                action(registers)


def write_buffers(plan: GraphPlan, registers: Registers, tensors: StepTensors) -> None:
    """Write the new values of buffers, at the end of the forward part."""
    new = plan.new_buffers
    for view in new.views:
        registers[view.register] = view.call.on(registers)
    # All are read before the first is written: one may be a view of another's old value. What an
    # operation has made is no view of any.
    copied = {
        name: registers[register].clone()
        for name, register in new.registers.items()
        if name not in new.made
    }
    for name in new.made:
        tensors[name].copy_(registers[new.registers[name]])
    for register in new.ends:
        registers[register] = None
    for name, content in copied.items():
        tensors[name].copy_(content)


def accumulate(parameter: Tensor, gradient: Tensor) -> None:
    """Add to the gradient of a parameter as autograd does, hooks of the parameter included."""
    if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
        torch.autograd.backward((parameter,), (gradient,))
    elif parameter.grad is None:
        # Gradients have the layout of their parameters.
        if gradient.stride() != parameter.stride():
            gradient = torch.empty_like(parameter).copy_(gradient)
        parameter.grad = gradient
    else:
        parameter.grad += gradient
