"""Run of one training step by a chain schedule: its operations on real tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.schedules.remat_chain.contents import TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.transfer_operation import TransferOperation
from jettison.torch.backward_call import check_plain_backward
from jettison.torch.chain_steps.plan import ExecutionPlan, Movement
from jettison.torch.chain_steps.stage_graph import StageGraph
from jettison.torch.errors import ExecutionError
from jettison.torch.generator_log import GeneratorLog
from jettison.torch.host_copies import host_copies
from jettison.torch.saved_storages import Place, SavedStorages
from jettison.torch.stage_modules import StageModules
from jettison.torch.stage_runner import StageCall, StageRunner
from jettison.torch.step_conditions import StepConditions


@dataclass(frozen=True, slots=True)
class RunStage:
    """Stage in the run of one step.

    Attributes
    ----------
    name
        Name of the stage, for messages.
    call
        The module, or the loss; None for a loss that the caller computes.
    needs_gradient
        Whether its output depends on anything that is trained.
    modules
        The modules of `call`.
    """

    name: str
    call: StageCall | None
    needs_gradient: bool
    modules: StageModules


class ScheduleRun:
    """Run of one step by a chain schedule, with the contents of memory.

    The run has three parts. `forward` ends with the first forward operation of the loss, where the
    caller takes the output. `begin_backward` takes the gradient of the output and runs until that
    is used up; `finish_backward` does the rest.

    Parameters
    ----------
    plan
        The schedule.
    stages
        All stages, the loss last.
    model_input
        The input of the model.
    loss_arguments
        Further arguments of the loss, which its call takes.
    resident
        Addresses of the storages of all parameters and buffers; only used where something moves
        that a stage has saved.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        stages: Sequence[RunStage],
        model_input: Tensor,
        loss_arguments: Sequence[Any],
        resident: frozenset[int],
    ) -> None:
        autocast = AutocastState.current(model_input.device)
        self._log = log = GeneratorLog()
        self._plan = plan
        self._stages = stages
        self._runners = [
            None
            if stage.call is None
            else StageRunner(
                stage.name, stage.call, autocast, log, stage.modules, runs=plan.runs[number]
            )
            for number, stage in enumerate(stages, start=1)
        ]
        self._input_needs_gradient = bool(model_input.requires_grad)
        self._arguments = [
            item for item in (model_input, *loss_arguments) if isinstance(item, Tensor)
        ]
        self._conditions: StepConditions | None = None
        self._resident = resident
        self._plain: dict[int, Tensor] = {0: model_input.detach()}
        self._saved: dict[int, StageGraph] = {}
        # For tensors on the host: the layouts of plain ones, and the graphs that saved the others.
        # The graph of a repeated run may save other storages, and cannot take these back.
        self._layouts: dict[int, Place] = {}
        self._hosted: dict[int, StageGraph] = {}
        self._copies = host_copies(model_input.device)
        self._gradient: list[Tensor | None] = []
        self._output: Tensor | None = None
        self._output_version = 0
        self._position = 0
        self._finished = False

    def forward(self) -> None:
        """Run up to the loss."""
        with torch.no_grad():
            self._run_to(self._plan.delivery)
        self._log.settle()
        modules = (stage.call for stage in self._stages if isinstance(stage.call, nn.Module))
        self._conditions = StepConditions(modules, self._arguments)

    def take_output(self) -> Tensor:
        """Return the loss, or the model's output where the caller computes the loss."""
        if self._output is None:
            raise ExecutionError("a step has no output before it has run forward")
        # It shares a version counter with the kept output, which shows changes by the caller.
        return self._output.detach()

    def begin_backward(self, gradient: Tensor) -> None:
        """Run the backward operation that uses the gradient of the output.

        Raises
        ------
        ExecutionError
            If the step has run backward before, or in a way that a schedule cannot follow.
        """
        self._check_backward()
        self._output = None
        self._gradient = [gradient]
        last = len(self._stages)
        if self._stages[-1].call is None:
            last -= 1
        self._run_backward_to(self._plan.backward_ends[last])

    def finish_backward(self) -> Tensor | None:
        """Run the rest; return the gradient of the model's input, or None if none is needed."""
        self._run_backward_to(len(self._plan.operations))
        gradient = self._gradient.pop()
        self._forget()
        return gradient if self._input_needs_gradient else None

    def _check_backward(self) -> None:
        if self._finished or self._position != self._plan.delivery:
            raise ExecutionError(
                "this step has run backward already, and a schedule keeps nothing for a second "
                "time (retain_graph=True changes nothing); run the model forward again"
            )
        if self._output is None or self._output._version != self._output_version:
            raise ExecutionError(
                "the output was modified in place before the backward pass, which may need it; "
                "modify a clone() of it"
            )
        if self._conditions is not None:
            self._conditions.check()
        check_plain_backward()

    def _run_backward_to(self, end: int) -> None:
        try:
            with torch.no_grad():
                self._run_to(end)
        except BaseException:
            self._forget()
            raise

    def _run_to(self, end: int) -> None:
        plan = self._plan
        while self._position < end:
            position = self._position
            operation = plan.operations[position]
            # The last one has begun last, and who waits for it has waited for all.
            for name in reversed(plan.releases[position]):
                self._copies.release(name)
            for name in plan.awaits[position]:
                self._copies.await_arrival(name)
            if isinstance(operation, ChainOperation):
                self._compute(operation, plan.moves[position])
            else:
                self._transfer(operation)
            self._position += 1

    def _compute(self, operation: ChainOperation, movement: Movement) -> None:
        number = operation.stage
        match operation.kind:
            case ChainOperationKind.DROP:
                self._drop(number)
            case ChainOperationKind.FORWARD_ALL:
                self._forward_all(number, movement)
            case ChainOperationKind.FORWARD_CHECKPOINT:
                self._forward_plain(number)
            case ChainOperationKind.FORWARD_NONE:
                self._forward_plain(number)
                self._drop(number - 1)
            case ChainOperationKind.BACKWARD:
                self._backward(number)

    def _forward_all(self, number: int, movement: Movement) -> None:
        runner = self._runners[number - 1]
        if runner is None:
            self._deliver(number, self._activation(number - 1))
            return
        stage_input = self._fresh_input(number)
        needs_gradient = self._needs_gradient(number - 1) and (
            stage_input.is_floating_point() or stage_input.is_complex()
        )
        saved = None
        if movement is not Movement.NONE:
            resident = self._resident if movement is Movement.ALL else None
            saved = SavedStorages(stage_input, resident)
        graph = StageGraph(
            runner.run_checked,
            stage_input,
            needs_gradient=needs_gradient,
            saved=saved,
        )
        if graph.has_backward and not self._needs_gradient(number):
            raise InputError(
                "the stage trains tensors that are not its parameters",
                field=self._stages[number - 1].name,
                expected="register them as parameters of the stage",
            )
        self._plain.pop(number, None)
        self._drop_saved(number)
        self._saved[number] = graph
        self._deliver(number, graph.output)

    def _forward_plain(self, number: int) -> None:
        runner = self._runners[number - 1]
        if runner is None:
            self._deliver(number, self._activation(number - 1))
            return
        output = runner.run_checked(self._fresh_input(number)).detach()
        # Where ā is in memory, which includes a, the output is not kept.
        if number not in self._saved:
            self._plain[number] = output
        self._deliver(number, output)

    def _backward(self, number: int) -> None:
        if self._runners[number - 1] is None:
            # The caller's loss: its gradient has arrived.
            return
        graph = self._saved[number]
        gradient = graph.backward(self._gradient, self._activation(number - 1))
        self._drop_saved(number)
        self._plain.pop(number - 1, None)
        self._gradient = [gradient]

    def _transfer(self, operation: TransferOperation) -> None:
        name = operation.tensor
        if name.kind is TensorKind.PLAIN:
            self._transfer_plain(operation)
        elif self._runners[name.stage - 1] is not None:
            self._transfer_saved(operation)

    def _transfer_plain(self, operation: TransferOperation) -> None:
        name = operation.tensor
        number = name.stage
        if operation.kind.is_offload:
            self._copies.await_arrival(name)
            self._copies.offload(name, [self._plain[number].untyped_storage()])
            self._layouts[number] = Place.of(self._plain[number])
        elif operation.kind.is_drop:
            self._plain.pop(number)
        else:
            (storage,) = self._copies.prefetch(name)
            self._plain[number] = self._layouts[number].on(storage)

    def _transfer_saved(self, operation: TransferOperation) -> None:
        name = operation.tensor
        number = name.stage
        if operation.kind.is_offload:
            self._copies.await_arrival(name)
            self._copies.offload(name, self._saved[number].storages())
            self._hosted.setdefault(number, self._saved[number])
        elif operation.kind.is_drop:
            self._drop_saved(number)
        else:
            graph = self._saved[number] = self._hosted[number]
            graph.arrive(self._copies.prefetch(name))

    def _drop(self, number: int) -> None:
        self._plain.pop(number, None)
        self._drop_saved(number)

    def _drop_saved(self, number: int) -> None:
        """Drop a graph, if there is one; its nodes are kept if its tensors are on the host."""
        graph = self._saved.pop(number, None)
        if graph is not None and graph is self._hosted.get(number):
            graph.leave()

    def _deliver(self, number: int, output: Tensor) -> None:
        if number == len(self._stages) and self._position < self._plan.delivery:
            self._output = output.detach()
            self._output_version = int(output._version)

    def _activation(self, number: int) -> Tensor:
        if number in self._plain:
            return self._plain[number]
        return self._saved[number].output

    def _fresh_input(self, number: int) -> Tensor:
        # A version counter of its own tells whether this very run changes it.
        return self._activation(number - 1).data

    def _needs_gradient(self, number: int) -> bool:
        return (
            self._input_needs_gradient if number == 0 else self._stages[number - 1].needs_gradient
        )

    def _forget(self) -> None:
        self._finished = True
        self._plain.clear()
        self._layouts.clear()
        self._saved.clear()
        self._hosted.clear()
        self._gradient.clear()
        self._arguments.clear()
        self._conditions = None
        self._output = None
        self._copies = host_copies(torch.device("cpu"))
