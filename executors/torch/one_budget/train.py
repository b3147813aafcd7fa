"""Training of a sequential model with all that it needs in one amount of memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.core.memory import Memory
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.profile_warning import ProfileWarning
from jettison.instances.profilers.torch_chains.optimizer_measurement import (
    StageUpdate,
    measure_updates,
)
from jettison.instances.profilers.torch_chains.profiled_training_chain import (
    profile_training_chain,
)
from jettison.instances.profilers.torch_graphs.storages import storage_bytes
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve
from jettison.torch.checkpoint_sequential import LossOfSample, as_sequential
from jettison.torch.checkpointed_sequential import Loss
from jettison.torch.no_schedule import no_schedule_error
from jettison.torch.one_budget.model_parts import device_of, parameters_of_stages
from jettison.torch.one_budget.stage_weights import OptimizerOf
from jettison.torch.one_budget.trainer import OneBudgetTrainer

# Plans that are made before what the executor needs besides is given up.
_MOST_PLANS = 4


def train_in_one_budget(
    model: nn.Sequential | Sequence[nn.Module],
    *,
    optimizer: OptimizerOf,
    loss: Loss,
    memory: str | int | Memory,
    bandwidth: str | int | Link,
    sample_input: Tensor | None = None,
    sample_loss_arguments: Sequence[Any] = (),
    chain: Chain | None = None,
    host_memory: str | int | Memory | None = None,
    max_gradient_norm: float | None = None,
    method: str | None = None,
    time_limit: float | None = 60.0,
    warmup: int = 2,
    repeats: int = 7,
    threads: int = 1,
    check: CostCheck = CostCheck.WARN,
) -> OneBudgetTrainer:
    """Make a sequential model train within `memory`, weights and optimizer included.

    Measures the stages, their optimizer states and updates once; plans activations, weights,
    gradients and states together (`training-chain`); and returns a trainer of which each `step` is
    a step of training: weights may be on the host while nothing uses them, activations may be
    there or be computed again, and updates run on the device or on the host.

    >>> trainer = train_in_one_budget(
    ...     model,
    ...     optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-4, fused=True),
    ...     loss=nn.functional.cross_entropy,
    ...     memory="8GiB",
    ...     bandwidth="12GB/s",
    ...     sample_input=batch,
    ...     sample_loss_arguments=(labels,),
    ... )
    >>> for batch, labels in data:
    ...     loss = trainer.step(batch, labels)
    >>> trainer.close()

    Parameters
    ----------
    model
        The stages, in training mode. It is shared, not copied, and belongs to the trainer until
        that is closed. It may be on the host with the sample on a GPU, where it need not fit: then
        its stages are measured one by one, and each is brought where the plan has it at first.
    optimizer
        Makes the optimizer of the parameters of a stage, and must treat each parameter by itself.
        One with ``fused=True`` needs no memory for intermediate results, which others do.
    loss
        A module or function of the output and further arguments.
    memory
        Bytes of the device (``"8GiB"``), or a share of the peak of a step that keeps everything
        there (``"50%"``). Or a `Card`, less what is resident on it: nothing by default, as all
        tensors are planned; the context of CUDA and workspaces are not.
    bandwidth
        Bandwidth of the link to the host, each way (``"12GB/s"``).
    sample_input, sample_loss_arguments
        One batch, to measure with; on the device that computes. With `chain` it is not needed
        where the model is on that device.
    chain
        What `profile_training_chain` returned for this model before.
    host_memory
        Bytes that the host has; None for no limit.
    max_gradient_norm
        Limit of the norm of the gradient of all parameters, as `torch.nn.utils.clip_grad_norm_` has
        it; None for no limit. It needs a plan that updates nothing before the gradient of the first
        stage exists, and is refused with any other.
    method
        As in `solve`.
    time_limit
        Seconds for all plans together: half of them for the first, and as much for others in less
        memory, where the first leaves no room for what the executor needs besides.
    warmup, repeats, threads, check
        As in `profile_chain`.

    Raises
    ------
    InputError
        If the model is no sequence of modules, shares weights between stages, or cannot be
        measured, or no schedule is found: the message has the least memory that would do, where it
        is known.
    """
    sequential = as_sequential(model)
    names = [str(place) for place in range(len(sequential))]
    parameters = parameters_of_stages([*sequential, loss], [*names, "the loss"])
    device = device_of(parameters) if sample_input is None else sample_input.device
    if chain is None:
        if sample_input is None:
            raise InputError(
                "neither a sample nor a chain",
                field="sample_input",
                expected="give one batch, or the chain of a profile",
            )
        chain = profile_training_chain(
            sequential,
            sample_input,
            name=f"sequential-{len(sequential)}-stages-{device.type}",
            model_name=type(sequential).__name__,
            optimizer=optimizer,
            loss=LossOfSample(loss, tuple(sample_loss_arguments)),
            warmup=warmup,
            repeats=repeats,
            threads=threads,
            check=check,
        )
    updates = measure_updates(
        [*sequential, loss], optimizer, device, warmup=0, repeats=1, threads=threads
    )
    problem = TrainingChain(chain, memory, bandwidth, host_memory)
    limit_bytes = problem.memory_bytes
    first_limit = None if time_limit is None else time_limit / 2
    next_limit = None if first_limit is None else first_limit / _MOST_PLANS
    first = plan = _planned(problem, method, first_limit)
    for _ in range(_MOST_PLANS):
        excess_bytes = _taken_bytes(plan, sequential, updates, device) - limit_bytes
        if excess_bytes <= 0:
            break
        budget = plan.problem.memory_bytes - excess_bytes
        try:
            plan = _planned(
                TrainingChain(chain, budget, bandwidth, host_memory), method, next_limit
            )
        except InputError:
            plan = first
            break
    _warn(_taken_bytes(plan, sequential, updates, device), limit_bytes)
    return OneBudgetTrainer(
        sequential,
        plan.problem,
        plan.schedule,
        optimizer=optimizer,
        loss=loss,
        max_gradient_norm=max_gradient_norm,
        device=device,
        result=plan.result,
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """Schedule of a problem, and what the solver says of it."""

    problem: TrainingChain
    schedule: TrainingSchedule
    result: Result


def _planned(problem: TrainingChain, method: str | None, time_limit: float | None) -> _Plan:
    result = solve(problem, method, time_limit=time_limit)
    if not isinstance(result.schedule, TrainingSchedule):
        raise no_schedule_error(problem, result)
    return _Plan(problem, result.schedule, result)


def _warn(taken_bytes: int, limit_bytes: int) -> None:
    if taken_bytes > limit_bytes:
        warnings.warn(
            f"a step takes {taken_bytes} bytes and not {limit_bytes}: intermediate results of the "
            "optimizer, states of random number generators and copies of buffers do not fit in as "
            "well, and no plan was found that takes less; an optimizer with fused=True has no "
            "intermediate results",
            ProfileWarning,
            stacklevel=3,
        )


def _taken_bytes(
    plan: _Plan,
    model: nn.Sequential,
    updates: Sequence[StageUpdate],
    device: torch.device,
) -> int:
    """Return the peak with what the replay does not count.

    That is what updates take beside their tensors, and what is kept to repeat a stage: a state of
    the generator of random numbers, and two copies of the buffers.
    """
    verdict = plan.schedule.replay(plan.problem.instance, plan.problem.link)
    peak_bytes = verdict.peak_bytes
    rise_of = {
        f"{TrainingEventKind.UPDATE} {number}": update.rise_bytes
        for number, update in enumerate(updates, start=1)
    }
    for step in verdict.steps:
        if step.operation in rise_of:
            peak_bytes = max(peak_bytes, step.during_bytes + rise_of[step.operation])
    forwards = [event.stage for event in plan.schedule.events if event.kind.is_forward]
    repeated = {stage for stage in forwards if forwards.count(stage) > 1}
    state_bytes = torch.get_rng_state().nbytes if device.type == "cpu" else 0
    for number in repeated:
        buffers = model[number - 1].buffers() if number <= len(model) else ()
        peak_bytes += state_bytes + 2 * sum(storage_bytes(buffers).values())
    return peak_bytes
