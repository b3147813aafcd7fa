"""Training step of any model that runs by a schedule of its graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.torch.accepted_replay import accepted_replay
from jettison.torch.actions.step_actions import StepActions
from jettison.torch.backward_call import check_plain_backward
from jettison.torch.checkpointed_sequential import Prediction
from jettison.torch.errors import Uncopied
from jettison.torch.graph_steps.plan import GraphPlan
from jettison.torch.graph_steps.program import StepProgram
from jettison.torch.graph_steps.run import GraphRun, StepTensors, accumulate


class StepRun(Protocol):
    """Run of one step in two parts."""

    def forward(self) -> Tensor:
        """Run up to the gradient of the loss; return the loss."""

    def backward(self, gradient: Tensor) -> None:
        """Run the rest, and give the parameters their gradients."""


class CheckpointedStep(Uncopied, nn.Module):
    r"""Training step that computes the loss and its gradients by a schedule of its graph.

    ``step(batch, labels).backward()`` does what ``loss(model(batch), labels).backward()`` does, and
    the result is the same, gradients included. Each operation of the trace runs on tensors that
    the schedule keeps; an operation that runs again draws the same random numbers, and buffers such
    as running statistics are updated once, before the call returns.

    Parameters receive their gradients while ``backward()`` runs, each as soon as nothing reads it
    or its gradient, so that a hook may step an optimizer. The operations are those of the trace:
    hooks of modules have run when it was made, hooks of parameters run in each step. A second
    backward pass and gradients of gradients are refused with an `ExecutionError`, and so is a
    change of parameters, inputs or other buffers before the backward pass. The graph does not show
    the parameters: `torch.autograd.grad` reports them as unused, and ``backward(inputs=...)`` does
    not reach them. Under autocast each use of a parameter casts it anew, so that its gradients are
    added in its own type, not in that of the cast.
    Where gradients are disabled, the model runs as it is.

    Predicted is what the step allocates: gradients of parameters are a part of it, and the batch is
    not. A step that adds to gradients from before needs less: they are added one by one. Not in the
    prediction are states of the random number generator (kilobytes for each operation that draws
    again on a CPU), and new values of buffers until they are written; nor what kernels allocate for
    themselves, where the program was traced with sizes that know nothing of it (`TracedMemory`).

    Parameters
    ----------
    program
        The trace.
    problem
        Its graph, and the memory.
    schedule
        A schedule that the replay accepts.

    Attributes
    ----------
    schedule, graph
        The schedule that runs, and the instance that it was made for.
    predicted
        Time and peak of a step, by the replay.

    Raises
    ------
    InputError
        If the graph is not that of the trace, the replay rejects the schedule, or it draws random
        numbers in another order than the model, or computes the new value of a buffer after the
        loss.
    """

    def __init__(self, program: StepProgram, problem: RematGraph, schedule: GraphSchedule) -> None:
        super().__init__()
        if _shape(problem.instance) != _shape(program.graph):
            raise InputError(
                f"the graph {problem.instance.name} is not that of this step",
                field="problem",
                expected="take program.graph: it has one node for each operation",
            )
        replay = accepted_replay(problem, schedule)
        self.step = program.step
        self.program = program
        self.problem = problem
        self.schedule = schedule
        self.predicted = Prediction(time_ns=replay.time_ns, peak_bytes=replay.peak_bytes)
        self._plan = GraphPlan.of(schedule, program.traced)
        self._tensors = StepTensors(program.step)
        self._actions: StepActions | None = None

    @property
    def graph(self) -> Graph:
        """The graph that the schedule was made for."""
        return self.problem.instance

    def forward(self, *inputs: Any, **keywords: Any) -> Tensor:
        """Return the loss; arguments are those of the sample.

        Raises
        ------
        InputError
            If the inputs do not look like the sample.
        ExecutionError
            If the modules, their modes, the layouts of their parameters, or autocast are not as
            they were when the step was traced.
        """
        if not torch.is_grad_enabled():
            return self.program.step.plain(inputs, keywords)
        tensors = self.program.checked(inputs, keywords)
        run = self._run_of(tensors)
        anchor = torch.empty(0, requires_grad=True)
        loss: Tensor = _RunStep.apply(run, anchor)
        return loss

    def _run_of(self, inputs: Sequence[Tensor]) -> StepRun:
        """Return the run of one step on inputs that look like the sample."""
        if self._actions is None:
            self._actions = StepActions(self._plan, self._tensors, accumulate)
        return GraphRun(self._plan, self._actions, self._tensors, inputs)

    def extra_repr(self) -> str:
        """Return the predicted time and peak, for ``repr``."""
        return (
            f"{len(self.schedule.operations)} operations, {self.predicted.time_ns} ns, "
            f"{self.predicted.peak_bytes} bytes"
        )


class _RunStep(torch.autograd.Function):
    """Autograd function of the step up to the gradient of its loss; backward, the rest."""

    @staticmethod
    def forward(ctx: Any, run: StepRun, anchor: Tensor) -> Tensor:
        # The anchor makes the loss need a gradient.
        ctx.run = run
        return run.forward()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None]:
        check_plain_backward()
        ctx.run.backward(gradients[0])
        return None, None


def _shape(graph: Graph) -> list[tuple[Any, ...]]:
    return [
        (node.name, node.inputs, node.output_bytes, node.workspace_bytes, node.keep)
        for node in graph.nodes
    ]
