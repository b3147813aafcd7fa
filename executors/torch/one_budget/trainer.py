"""Trainer of a sequential model by a training schedule: weights, states and activations move."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_chains.stage import check_sequential
from jettison.instances.profilers.torch_graphs.storages import storage_bytes
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor
from jettison.schedules.training_chain.first_state import first_state
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.schedules.training_chain.training_verdict import TrainingVerdict
from jettison.solvers.core.result import Result
from jettison.torch.accepted_replay import accepted_replay
from jettison.torch.checkpointed_sequential import Loss
from jettison.torch.errors import ExecutionError, Uncopied
from jettison.torch.host_copies import host_copies
from jettison.torch.one_budget.gradient_norm import GradientNorm, check_updates_are_late
from jettison.torch.one_budget.host_processor import host_processor
from jettison.torch.one_budget.issue_order import issue_order
from jettison.torch.one_budget.memory_gauge import CpuGauge, Gauge, NoGauge
from jettison.torch.one_budget.model_parts import (
    check_arguments,
    check_optimizer,
    device_of,
    parameters_of_stages,
    sizes_of_tensors,
)
from jettison.torch.one_budget.optimizer_settings import Settings
from jettison.torch.one_budget.period import Period
from jettison.torch.one_budget.saved_state import SavedState
from jettison.torch.one_budget.stage_weights import OptimizerOf, StageWeights
from jettison.torch.one_budget.step_numbers import BudgetPrediction, MeasuredStep


class OneBudgetTrainer(Uncopied):
    r"""Trainer of a sequential model whose steps run by a training schedule.

    A call of `step` runs one period of the schedule: the step's forward and backward operations,
    and updates. An update may come in the period after, before its weights are read again; `finish`
    runs what is left. Losses and weights are those of plain training with one optimizer: a repeated
    operation draws the same random numbers, and buffers such as running statistics are updated
    once. On a CPU, with an optimizer that treats each parameter by itself, they are equal bit for
    bit; where the host updates the weights of a GPU, as close as the two devices compute.

    On a CPU, device and host are two parts of the same memory, and copies are real copies. On a GPU
    transfers run on two streams beside the one that computes, through pinned memory that is
    allocated once, and a thread runs the host's updates.

    Until `close`, the model belongs to the trainer: weights that are not on the device have
    storages of no bytes, and nothing but the trainer may read them.

    Parameters
    ----------
    model
        The stages. It is shared, not copied.
    problem
        The chain of the model, with one stage for each child and the loss, and its memory.
    schedule
        A schedule that the replay accepts.
    optimizer
        Makes the optimizer of some parameters, which must treat each parameter by itself:
        ``lambda parameters: torch.optim.AdamW(parameters, lr=1e-4)``. It is called once per stage.
    loss
        A module or function of the output and further arguments.
    max_gradient_norm
        Limit of the norm of the gradient of all parameters, as `torch.nn.utils.clip_grad_norm_` has
        it; None for no limit.
    device
        The device that computes; that of the model's first parameter if it is not given.
    result
        What the solver has said of the schedule, with its bound; kept for the caller.

    Attributes
    ----------
    schedule, chain
        The schedule that runs, and the instance that it was made for.
    predicted
        Time and peaks of a step, by the replay.
    result
        As given.

    Raises
    ------
    InputError
        If the model does more than running its stages; if model and chain do not have the same
        stages, stages share parameters, the optimizer needs a closure, or the replay rejects the
        schedule; if the gradient is limited, and the schedule updates before all of it exists.
    """

    def __init__(
        self,
        model: nn.Sequential,
        problem: TrainingChain,
        schedule: TrainingSchedule,
        *,
        optimizer: OptimizerOf,
        loss: Loss,
        max_gradient_norm: float | None = None,
        device: torch.device | None = None,
        result: Result | None = None,
    ) -> None:
        check_sequential(model)
        if len(model) + 1 != len(problem.instance):
            raise InputError(
                f"{len(model)} stages, and {len(problem.instance)} in the chain",
                field="model",
                expected="take the chain of this model: its stages, then the loss",
            )
        parameters = parameters_of_stages(
            [*model, loss], [stage.name for stage in problem.instance]
        )
        verdict = accepted_replay(problem, schedule)
        assert isinstance(verdict, TrainingVerdict)
        self.model = model
        self.loss = loss
        self.problem = problem
        self.schedule = schedule
        self.result = result
        self.predicted = BudgetPrediction(
            time_ns=schedule.period_ns,
            peak_bytes=verdict.peak_bytes,
            host_peak_bytes=verdict.host_peak_bytes,
            bound_ns=problem.base_time_ns
            if result is None or result.bound is None
            else result.bound.time_ns,
        )
        self._device = device or device_of(parameters)
        self._copies = host_copies(self._device)
        self._host = host_processor(self._device)
        self._order = issue_order(schedule, verdict, sizes_of_tensors(self.chain))
        check_updates_are_late(max_gradient_norm, self._order, self.chain)
        self._first = first_state(self.chain, schedule.events)
        self._weights = self._place(parameters, optimizer)
        self._norm = GradientNorm(max_gradient_norm, self._weights)
        self._period = Period(
            model,
            loss,
            self.chain,
            self._order,
            self._weights,
            self._copies,
            self._host,
            self._norm,
        )
        self._saved = SavedState(model, self._weights, self._first)
        self._is_usable = True

    def _place(
        self, parameters: Sequence[Sequence[nn.Parameter]], optimizer: OptimizerOf
    ) -> list[StageWeights]:
        """Bring each stage where its first period expects it."""
        for module in (*self.model, self.loss):
            if isinstance(module, nn.Module):
                for part in module.modules():
                    for name, buffer in part.named_buffers(recurse=False):
                        part._buffers[name] = buffer.to(self._device)
        found = []
        for number, (own, state) in enumerate(zip(parameters, self._first, strict=True), start=1):
            stage = StageWeights(
                number,
                own,
                self._device,
                optimizer,
                self._copies,
                updates_on_host=state.updates_on_host,
            )
            if stage.optimizer is not None:
                check_optimizer(stage.optimizer)
            block = state.blocks[StageTensor.WEIGHTS]
            if block.hosted_version is not None or not block.is_resident:
                stage.offload(StageTensor.WEIGHTS)
            if not block.is_resident:
                stage.drop(StageTensor.WEIGHTS)
            found.append(stage)
        return found

    @property
    def chain(self) -> Chain:
        """The chain that the schedule was made for."""
        return self.problem.instance

    @property
    def settings(self) -> Settings:
        """Settings of all parameter groups of all stages, such as ``lr``; they may be changed.

        A change holds for the updates of steps that follow, whenever these run.
        """
        return [group for stage in self._weights for group in stage.settings]

    @property
    def gradient_norm(self) -> Tensor | None:
        """Norm of the last step's gradient before it was limited; None where no limit is given."""
        return self._norm.total

    def step(self, batch: Tensor, *loss_arguments: Any) -> Tensor:
        """Train on one batch; return the loss.

        Raises
        ------
        InputError
            If an argument is not on the device, or a stage cannot run by a schedule.
        ExecutionError
            If the trainer is closed, or an earlier step ended with an error.
        """
        return self._step(batch, loss_arguments, NoGauge())

    def measure_peak(self, batch: Tensor, *loss_arguments: Any) -> MeasuredStep:
        """Train on one batch, and measure the peak of the device's memory.

        On a CPU, the storages that are held and what operations take beside them, to the byte; on a
        GPU what the allocator has handed out, in its blocks, without what others held before.
        """
        if self._device.type != "cuda":
            gauge = CpuGauge(self._held_bytes)
            with gauge:
                loss = self._step(batch, loss_arguments, gauge)
            return MeasuredStep(loss=loss, measured=gauge.peak_bytes)
        torch.cuda.synchronize(self._device)
        batch_bytes = sum(storage_bytes([batch]).values())
        others = torch.cuda.memory_allocated(self._device) - self._held_bytes() - batch_bytes
        torch.cuda.reset_peak_memory_stats(self._device)
        loss = self.step(batch, *loss_arguments)
        torch.cuda.synchronize(self._device)
        peak_bytes = int(torch.cuda.max_memory_allocated(self._device)) - others
        return MeasuredStep(loss=loss, measured=peak_bytes)

    def measure_time(self, batch: Tensor, *loss_arguments: Any, steps: int = 1) -> MeasuredStep:
        """Train some steps on one batch, and measure the mean time of one, by the wall clock."""
        self._synchronize()
        before = time.perf_counter_ns()
        for _ in range(steps):
            loss = self.step(batch, *loss_arguments)
        self._synchronize()
        return MeasuredStep(loss=loss, measured=(time.perf_counter_ns() - before) // steps)

    def finish(self) -> None:
        """Run the updates that a step has left to the next; training may go on.

        Weights and states are where a period expects them afterwards.
        """
        self._check_usable()
        for number, stage in enumerate(self._weights, start=1):
            self._host.wait(number)
            if stage.is_pending:
                self._period.update_now(stage)
                self._saved.settle(number)
        self._synchronize()

    def state_dict(self) -> dict[str, Tensor]:
        """Return the weights and buffers of the model on the host, all updates made.

        The model itself need not fit the device for this.
        """
        self.finish()
        return self._saved.weights()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Give the model the weights and buffers that `state_dict`, or a plain model's, returned.

        Updates that a step has left are made before.

        Raises
        ------
        InputError
            If a name is missing or not of the model, or a shape differs; nothing is written then.
        """
        self.finish()
        self._saved.load_weights(state)
        self._synchronize()

    def optimizer_state_dict(self) -> dict[str, Any]:
        """Return states and settings of the optimizer on the host, all updates made.

        It is what ``state_dict()`` of one optimizer of all parameters would be that are trained,
        those of the model before those of the loss: that optimizer can load it. Settings that were
        changed for some stages alone leave each stage groups of its own.
        """
        self.finish()
        return self._saved.optimizer()

    def load_optimizer_state_dict(self, state: Mapping[str, Any]) -> None:
        """Give the optimizer what `optimizer_state_dict`, or that of a plain one, returned.

        Updates that a step has left are made before. Settings, such as the learning rate, are
        loaded too.

        Raises
        ------
        InputError
            If the groups have not as many parameters as those of the optimizer; nothing is written
            then.
        """
        self.finish()
        self._saved.load_optimizer(state)
        self._synchronize()

    def close(self) -> None:
        """Run what is left, bring all weights back to the device, and give the model back.

        The device needs memory for all weights; `state_dict` does not.
        """
        self.finish()
        for stage in self._weights:
            stage.bring_back()
        self._synchronize()
        self._host.close()
        self._is_usable = False

    def _step(self, batch: Tensor, loss_arguments: Sequence[Any], gauge: Gauge) -> Tensor:
        self._check_usable()
        check_sequential(self.model)
        check_arguments(batch, loss_arguments, self._device)
        self._is_usable = False
        loss = self._period.run(batch, loss_arguments, gauge)
        self._is_usable = True
        return loss

    def _held_bytes(self) -> int:
        """Return what is on the device now."""
        found = storage_bytes(item for stage in self._weights for item in stage.on_device())
        if self._period.activations is not None:
            found |= self._period.activations.storages()
        return sum(found.values())

    def _check_usable(self) -> None:
        if not self._is_usable:
            raise ExecutionError(
                "the trainer is closed, or one of its steps has ended with an error; make a new one"
            )

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
