"""Period of a training schedule: what a trainer runs in each step, in the order of issue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.torch.chain_steps.run import RunStage
from jettison.torch.checkpointed_sequential import Loss, with_arguments
from jettison.torch.host_copies import HostCopies
from jettison.torch.one_budget.activations import StepActivations
from jettison.torch.one_budget.gradient_norm import GradientNorm
from jettison.torch.one_budget.host_processor import HostProcessor
from jettison.torch.one_budget.memory_gauge import Gauge
from jettison.torch.one_budget.stage_weights import StageWeights
from jettison.torch.stage_modules import StageModules

_FORWARD, _ALL = TrainingEventKind.FORWARD, TrainingEventKind.FORWARD_ALL


class Period:
    """Period of a schedule for one model.

    Parameters
    ----------
    model, loss, chain
        The stages, the loss, and the chain that they are.
    order
        Events in the order in which they are issued.
    weights
        Weights of each stage, the loss's last.
    copies, host
        Transfers of the device, and the thread of the host's updates.
    norm
        Limit of the gradient.

    Attributes
    ----------
    activations
        Those of the step that runs; None between steps.
    """

    def __init__(
        self,
        model: nn.Sequential,
        loss: Loss,
        chain: Chain,
        order: Sequence[TrainingEvent],
        weights: Sequence[StageWeights],
        copies: HostCopies,
        host: HostProcessor,
        norm: GradientNorm,
    ) -> None:
        self.model, self.loss, self.chain = model, loss, chain
        self._order, self._weights = order, weights
        self._copies, self._host, self._norm = copies, host, norm
        self._runs = Counter(event.stage for event in order if event.kind.is_forward)
        self.activations: StepActivations | None = None

    def run(self, batch: Tensor, loss_arguments: Sequence[Any], gauge: Gauge) -> Tensor:
        """Run the period on one batch; return the loss."""
        activations = self.activations = StepActivations(
            self._run_stages(loss_arguments),
            batch,
            loss_arguments,
            self._copies,
            self._runs,
            self._staying,
        )
        loss: Tensor | None = None
        with torch.no_grad():
            for event in self._order:
                gauge.look()
                if not event.kind.is_computation:
                    self._move(event, activations)
                    continue
                with gauge.operation(event):
                    output = self._compute(event, activations)
                if output is not None and event.stage == len(self.chain) and loss is None:
                    loss = output.clone()
                # It lives as long as the activations hold it.
                del output
        gauge.look()
        self.activations = None
        assert loss is not None
        return loss

    def update_now(self, stage: StageWeights) -> None:
        """Make the update of a stage that is pending."""
        if stage.updates_on_host:
            stage.offload(StageTensor.GRADIENT)
            stage.host_update(self._norm.factor)()
            stage.drop(StageTensor.GRADIENT)
            if stage.is_on_device(StageTensor.WEIGHTS):
                stage.prefetch(StageTensor.WEIGHTS)
            return
        for tensor in (StageTensor.WEIGHTS, StageTensor.STATES):
            if not stage.is_on_device(tensor):
                stage.prefetch(tensor)
        if not stage.has_gradient:
            stage.prefetch(StageTensor.GRADIENT)
        stage.update(self._norm.factor)

    def _compute(self, event: TrainingEvent, activations: StepActivations) -> Tensor | None:
        number = event.stage
        stage = self._weights[number - 1]
        if event.kind is TrainingEventKind.HOST_UPDATE:
            self._host.submit(number, stage.host_update(self._norm.factor))
            return None
        if event.kind is TrainingEventKind.UPDATE:
            stage.update(self._norm.factor)
            return None
        stage.await_weights()
        if event.kind is _FORWARD:
            return activations.forward(number)
        if event.kind is _ALL:
            return activations.forward_all(number)
        activations.backward(number)
        stage.note_gradient()
        self._norm.note(number)
        return None

    def _move(self, event: TrainingEvent, activations: StepActivations) -> None:
        assert event.tensor is not None
        if event.tensor.is_activation:
            move = {
                TrainingEventKind.OFFLOAD: activations.offload,
                TrainingEventKind.PREFETCH: activations.prefetch,
                TrainingEventKind.DROP: activations.drop,
            }[event.kind]
            move(event.tensor, event.stage)
            return
        stage = self._weights[event.stage - 1]
        if event.kind is TrainingEventKind.OFFLOAD:
            self._host.wait(event.stage)
            stage.offload(event.tensor)
        elif event.kind is TrainingEventKind.PREFETCH:
            self._host.wait(event.stage)
            stage.prefetch(event.tensor)
        else:
            stage.drop(event.tensor)

    def _run_stages(self, loss_arguments: Sequence[Any]) -> list[RunStage]:
        needs_gradient = False
        stages = []
        for given, module, weights in zip(
            self.chain, (*self.model, self.loss), self._weights, strict=True
        ):
            needs_gradient = needs_gradient or weights.optimizer is not None
            call = module
            if given is self.chain.stages[-1] and loss_arguments:
                call = with_arguments(module, tuple(loss_arguments))
            stages.append(RunStage(given.name, call, needs_gradient, StageModules(call)))
        return stages

    def _staying(self, number: int) -> list[Tensor]:
        module = self.loss if number == len(self.chain) else self.model[number - 1]
        if not isinstance(module, nn.Module):
            return []
        return [*module.parameters(), *module.buffers()]
