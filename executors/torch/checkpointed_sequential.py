r"""Sequential model whose training steps run by a schedule.

The step is one of the chain :math:`1, \dots, N` whose last stage is the loss. Two functions of
autograd stand for it. The forward pass of the first runs the sequence up to the loss and yields an
empty token, which the second turns into the output. Backward, the second runs the operation that
uses the gradient of the output, which autograd can free then, and the first all that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Transfers
from jettison.instances.profilers.torch_chains.stage import check_sequential
from jettison.instances.profilers.torch_graphs.storages import storage_bytes
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.registry import kind_of
from jettison.torch.accepted_replay import accepted_replay
from jettison.torch.chain_steps.plan import ExecutionPlan, Movement
from jettison.torch.chain_steps.run import RunStage, ScheduleRun
from jettison.torch.chain_steps.step_chain import StepChain
from jettison.torch.chain_steps.step_rise import step_rise_bytes
from jettison.torch.errors import Uncopied
from jettison.torch.stage_modules import StageModules

Loss = Callable[..., Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predicted time and peak of a step, by the replay.

    Attributes
    ----------
    time_ns
        Forward and backward, the loss included.
    peak_bytes
        Memory without parameters, their gradients and buffers; the input included. The plan keeps
        this much free, and besides it the gradients of all parameters that a step makes.
    rise_bytes
        What a step by a chain schedule will take at its peak beyond what is there when it begins;
        the input is there already. New gradients count, as they come, and what was measured of each
        operation (`jettison.torch.chain_steps.step_rise`). None with transfers, or if the chain was
        measured by another version.
    """

    time_ns: int
    peak_bytes: int
    rise_bytes: int | None = None


class CheckpointedSequential(Uncopied, nn.Module):
    r"""Sequential model that runs forward and backward by a schedule of its chain.

    The result of a step is that of the plain model, gradients included: repeated forward operations
    draw the same random numbers (of PyTorch's, Python's and NumPy's global generators), under the
    same autocast, and leave buffers such as running statistics alone, so that these are updated
    once. Forward hooks of a stage run each time that the stage does. What else a stage computes
    must follow from its input, parameters and buffers: a counter in Python counts each run, and a
    tensor that one stage leaves for another somewhere else has no gradient, or an old one.

    From the forward to the backward pass parameters, the input and modes have to stay as they are;
    a change is an `ExecutionError`. Under autocast the gradients of a parameter that several stages
    share are added in its own type, not in that of the cast.

    As with reentrant checkpointing in PyTorch, parameters receive their gradients stage by stage
    while ``backward()`` runs: a parameter that several stages share receives several. A second
    backward pass, gradients of gradients and those of the model's input alone are refused with an
    `ExecutionError`. The graph does not show the parameters: `torch.autograd.grad` reports them as
    unused, and ``backward(inputs=...)`` does not reach them. Where nothing needs a gradient, the
    model runs as it is.

    Parameters
    ----------
    model
        The stages. It is shared, not copied.
    problem
        The chain of the model and its memory; and for offloading the link, with transfers at once.
        The chain has one stage for each child of `model`, and the loss.
    schedule
        A schedule that the replay accepts.
    step
        The chain that the schedule is for, if it is not that of `problem`: that of `step_chain`, in
        which views are joined with what they view, and gradients of parameters come one by one. Its
        memory is that of `problem` and the gradients of all parameters.
    loss
        None: the caller computes a loss of the output outside, at the moment of the chain's last
        stage; the time and memory of that stage are what was planned for it. Otherwise a module or
        function of the output and further arguments: the last stage, and its value is what a call
        returns.

    Attributes
    ----------
    schedule, chain
        The schedule that runs, and the instance that it was made for.
    problem
        The chain of the model and its memory, as they were given.
    predicted
        Time and peak of a step, by the replay.

    Raises
    ------
    InputError
        If the model does more than running its stages; if model and chain do not have the same
        stages, or the replay rejects the schedule.
    """

    def __init__(
        self,
        model: nn.Sequential,
        problem: RematChain | RematOffloadChain,
        schedule: ChainSchedule | OffloadSchedule,
        *,
        loss: Loss | None = None,
        step: StepChain | None = None,
    ) -> None:
        super().__init__()
        check_sequential(model)
        if step is not None and sum(step.counts) != len(problem.instance):
            raise InputError(
                f"{sum(step.counts)} stages, and {len(problem.instance)} in the chain",
                field="step",
                expected="take step_chain of the chain of the problem",
            )
        if len(model) + 1 != len(problem.instance):
            raise InputError(
                f"{len(model)} stages, and {len(problem.instance)} in the chain",
                field="model",
                expected="take the chain of this model: its stages, then the loss",
            )
        if kind_of(problem).transfers(problem) == Transfers.FLUID:
            raise InputError(
                "fluid transfers",
                field="problem",
                expected='use transfers="at-once": a device cannot free half a tensor',
            )
        self.model = model
        self.loss = loss
        self.problem = problem
        self.schedule = schedule
        planned = problem
        gradient_bytes = 0
        counts = (1,) * len(problem.instance)
        if step is not None:
            gradient_bytes, counts = step.gradient_bytes, step.counts
            planned = RematChain(step.chain, problem.memory_bytes + gradient_bytes)
        self.chain = planned.instance
        self._counts = counts
        replay = accepted_replay(planned, schedule)
        self.predicted = Prediction(
            time_ns=replay.time_ns,
            peak_bytes=replay.peak_bytes - gradient_bytes,
            rise_bytes=self._rise_bytes(),
        )
        self._plan = ExecutionPlan.of(schedule.operations, self.chain, planned.memory_bytes)

    def forward(self, model_input: Tensor, *loss_arguments: Any) -> Tensor:
        """Return the output of the model, or the loss if that is a part of the step.

        Raises
        ------
        InputError
            If the arguments are not those of the model and its loss; if a stage does not return one
            dense tensor, modifies its input in place, trains what is not its parameter, or writes
            to its parameters and has to run again.
        """
        self._check_arguments(model_input, loss_arguments)
        stages = self._run_stages(model_input, loss_arguments)
        if not (torch.is_grad_enabled() and stages[-1].needs_gradient):
            output: Tensor = self.model(model_input)
            return output if self.loss is None else self.loss(output, *loss_arguments)
        run = ScheduleRun(self._plan, stages, model_input, loss_arguments, self._resident(stages))
        anchor = torch.empty(0, device=model_input.device, requires_grad=True)
        token = _RunBelow.apply(run, anchor, model_input)
        delivered: Tensor = _TakeOutput.apply(run, token)
        return delivered

    def extra_repr(self) -> str:
        """Return the predicted time and peak, for ``repr``."""
        return (
            f"{len(self.schedule.operations)} operations, {self.predicted.time_ns} ns, "
            f"{self.predicted.peak_bytes} bytes"
        )

    def _rise_bytes(self) -> int | None:
        if not isinstance(self.schedule, ChainSchedule):
            return None
        modules = [*_stage_modules(self.model, self._counts), self.loss]
        buffer_bytes = [
            sum(storage_bytes(module.buffers()).values()) if isinstance(module, nn.Module) else 0
            for module in modules
        ]
        return step_rise_bytes(self.chain, self.schedule.operations, buffer_bytes)

    def _run_stages(self, model_input: Tensor, loss_arguments: tuple[Any, ...]) -> list[RunStage]:
        needs_gradient = bool(model_input.requires_grad)
        stages = []
        for stage, module in zip(
            self.chain, _stage_modules(self.model, self._counts), strict=False
        ):
            modules = StageModules(module)
            needs_gradient = needs_gradient or modules.is_trained
            stages.append(RunStage(stage.name, module, needs_gradient, modules))
        loss = self.loss
        call = None
        if loss is not None:
            call = with_arguments(loss, loss_arguments) if loss_arguments else loss
        modules = StageModules(call)
        needs_gradient = needs_gradient or modules.is_trained
        stages.append(RunStage(self.chain.stages[-1].name, call, needs_gradient, modules))
        return stages

    def _resident(self, stages: Sequence[RunStage]) -> frozenset[int]:
        if Movement.ALL not in self._plan.moves:
            return frozenset()
        tensors = [tensor for stage in stages for tensor in stage.modules.parameters]
        tensors += [buffer for stage in stages for _, _, buffer in stage.modules.buffers()]
        return frozenset([tensor.untyped_storage().data_ptr() for tensor in tensors])

    def _check_arguments(self, model_input: object, loss_arguments: tuple[Any, ...]) -> None:
        # Hooks may have come since the module was made.
        check_sequential(self.model)
        if not isinstance(model_input, Tensor):
            raise InputError(
                f"a {type(model_input).__name__} is not a tensor",
                field="model_input",
                expected="give one batch as a tensor",
            )
        if model_input.device.type not in {"cpu", "cuda"}:
            raise InputError(
                f"the device {model_input.device}",
                field="model_input",
                expected="move the model and the input to a CPU or CUDA device",
            )
        if loss_arguments and self.loss is None:
            raise InputError(
                f"{len(loss_arguments)} more arguments, and no loss",
                field="loss_arguments",
                expected="give the loss when the module is made, or call it on the output",
            )
        if any(isinstance(item, Tensor) and item.requires_grad for item in loss_arguments):
            raise InputError(
                "an argument of the loss requires a gradient, which no stage would pass on",
                field="loss_arguments",
                expected="detach() it, or leave the loss out and call it on the output",
            )


def _stage_modules(model: nn.Sequential, counts: Sequence[int]) -> Iterator[nn.Module]:
    """Yield the module of each stage but the loss: a child of the model, or a run of them."""
    children = iter(model)
    for count in counts[:-1]:
        run = list(islice(children, count))
        yield run[0] if count == 1 else nn.Sequential(*run)


class _LossStage(nn.Module):
    """Loss with its further arguments, as a module, so that its buffers are handled."""

    def __init__(self, loss: nn.Module, arguments: tuple[Any, ...]) -> None:
        super().__init__()
        self.loss = loss
        self.arguments = arguments

    def forward(self, output: Tensor) -> Tensor:
        value: Tensor = self.loss(output, *self.arguments)
        return value


def with_arguments(loss: Loss, arguments: tuple[Any, ...]) -> Callable[[Tensor], Tensor]:
    """Return a loss with its further arguments as the last stage of a step."""
    if isinstance(loss, nn.Module):
        stage: Callable[[Tensor], Tensor] = _LossStage(loss, arguments)
        return stage
    return lambda output: loss(output, *arguments)


class _RunBelow(torch.autograd.Function):
    """Autograd function of the forward part up to the loss; backward, the rest of the schedule."""

    @staticmethod
    def forward(ctx: Any, run: ScheduleRun, anchor: Tensor, model_input: Tensor) -> Tensor:
        # The anchor makes the token need a gradient where the input does not.
        ctx.run = run
        run.forward()
        return anchor.new_empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[None, None, Tensor | None]:
        return None, None, ctx.run.finish_backward()


class _TakeOutput(torch.autograd.Function):
    """Autograd function that returns the output; backward, the operation that uses its gradient."""

    @staticmethod
    def forward(ctx: Any, run: ScheduleRun, token: Tensor) -> Tensor:
        ctx.run = run
        return run.take_output()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        ctx.run.begin_backward(gradients[0])
        return None, gradients[0].new_empty(0, dtype=torch.get_default_dtype())
