"""One training step that runs by a graph schedule: the operations of its trace on real tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, fx, nn

from jettison.instances.profilers.autocast_state import AutocastState
from jettison.instances.profilers.traced_step import TracedStep
from jettison.torch.errors import ExecutionError
from jettison.torch.graph_plan import Computation, GraphPlan, Selection
from jettison.torch.graph_values import Reading, Values


class StepState:
    """Where the parameters and buffers of a step are, by name."""

    def __init__(self, step: nn.Module) -> None:
        self._owners: dict[str, tuple[nn.Module, str]] = {}
        for prefix, module in step.named_modules(remove_duplicate=False):
            start = f"{prefix}." if prefix else ""
            for name in (*module._parameters, *module._buffers):
                self._owners.setdefault(f"{start}{name}", (module, name))

    def __getitem__(self, name: str) -> Tensor:
        owner, last = self._owners[name]
        tensor: Tensor = getattr(owner, last)
        return tensor


class GraphRun:
    """The contents of memory during one step.

    `forward` runs until the gradient of the loss is needed and returns the loss; `backward` takes
    that gradient and runs the rest.

    New values of buffers are written when `forward` ends, or when they are there at last; until
    then they take memory beside the buffers.

    Parameters
    ----------
    plan, traced
        The schedule, and the trace that it is for.
    state
        The parameters and buffers.
    inputs
        Those of the step.
    """

    def __init__(
        self, plan: GraphPlan, traced: TracedStep, state: StepState, inputs: Sequence[Tensor]
    ) -> None:
        self._plan = plan
        self._traced = traced
        self._state = state
        self._device = inputs[0].device
        self._held = [*inputs, *(state[name] for name in traced.parameters.values())]
        self._versions = [tensor._version for tensor in self._held]
        resident = dict(zip(traced.inputs, inputs, strict=True))
        resident.update(
            {place: state[name] for place, name in {**traced.parameters, **traced.buffers}.items()}
        )
        self._values: Values = {
            (node, 0): resident[node.name].detach()
            for node in traced.module.graph.nodes
            if node.op == "placeholder"
        }
        for node in plan.old_buffers:
            self._values[node, 0] = self._values[node, 0].clone()
        # What new values of buffers are read from: placeholders, and results at their first run.
        self._new: Values = {
            source: self._values[source]
            for reading in plan.new_buffers.values()
            for source in reading.sources
            if source in self._values
        }
        self._unwritten = set(plan.new_buffers)
        self._generators: dict[fx.Node, Tensor] = {}
        self._position = 0

    def forward(self) -> Tensor:
        """Run up to the gradient of the loss; return the loss."""
        with torch.no_grad():
            self._run_to(self._plan.backward, None)
            self._write_buffers()
            loss = self._traced.loss
            value: Tensor = Reading([loss], self._traced).registers(self._values)[loss]
            return value.clone()

    def backward(self, gradient: Tensor) -> None:
        """Run the rest: gradients go to the parameters as soon as nothing reads them any more.

        Raises
        ------
        ExecutionError
            If it has run before; if parameters or inputs have changed since.
        """
        if self._position != self._plan.backward:
            raise ExecutionError(
                "this step has run backward already, and a schedule keeps nothing for a second "
                "time (retain_graph=True changes nothing); run the step again"
            )
        if [tensor._version for tensor in self._held] != self._versions:
            raise ExecutionError(
                "a parameter or an input was modified in place between the forward and the "
                "backward part of the step, which reads it again; modify it afterwards"
            )
        try:
            with torch.no_grad():
                self._run_to(len(self._plan.instructions), gradient)
                self._write_buffers()
        finally:
            self._position = -1
            self._values.clear()
            self._new.clear()
            self._held.clear()

    def _run_to(self, end: int, gradient: Tensor | None) -> None:
        plan, values = self._plan, self._values
        with AutocastState.current(self._device).switched_off().restored():
            while self._position < end:
                item = plan.instructions[self._position]
                if isinstance(item, Computation):
                    self._compute(item, gradient)
                elif isinstance(item, Selection):
                    for place in item.places:
                        values[item.node, place] = values[item.node, ~place]
                else:
                    for source in item.sources:
                        del values[source]
                for name in plan.deliveries[self._position]:
                    self._deliver(name)
                self._position += 1

    def _compute(self, item: Computation, gradient: Tensor | None) -> None:
        values = self._values
        if item.node is self._traced.seed and gradient is not None:
            values[item.node, 0] = gradient
            return
        registers = item.reading.registers(values)
        if item.device is None:
            result = item.fill.call(item.node.target, registers)
        else:
            with self._drawing(item.node, item.device):
                result = item.fill.call(item.node.target, registers)
        results = result if isinstance(result, tuple | list) else (result,)
        for place, at in item.stored:
            values[item.node, at] = results[place]
        for place in self._plan.makers.get(item.node, ()):
            if results[place] is not None:
                self._new.setdefault((item.node, place), results[place])

    @contextmanager
    def _drawing(self, node: fx.Node, device: torch.device) -> Iterator[None]:
        """Draw what the node drew when it ran first, and leave the generator alone then."""
        if node not in self._generators:
            self._generators[node] = _generator_state(device)
            yield
            return
        now = _generator_state(device)
        _set_generator_state(device, self._generators[node])
        try:
            yield
        finally:
            _set_generator_state(device, now)

    def _deliver(self, name: str) -> None:
        reading, source = self._plan.gradients[name]
        gradient = reading.registers(self._values)[self._traced.gradients[name]]
        if source in self._plan.shared:
            gradient = gradient.clone()
        else:
            del self._values[source]
        accumulate(self._state[name], gradient)

    def _write_buffers(self) -> None:
        ready = [
            name
            for name in self._unwritten
            if all(source in self._new for source in self._plan.new_buffers[name].sources)
        ]
        nodes = self._traced.new_buffers
        # All are read before the first is written: one may follow from another's old value.
        found = [
            self._plan.new_buffers[name].registers(self._new)[nodes[name]].clone() for name in ready
        ]
        for name, content in zip(ready, found, strict=True):
            self._state[name].copy_(content)
            self._unwritten.remove(name)


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


def _generator_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_generator_state(device: torch.device, state: Tensor) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
