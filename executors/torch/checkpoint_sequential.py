"""Optimal checkpointing of a sequential model: train it within an amount of memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.core.memory import Memory
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.profile_warning import ProfileWarning
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_chain.stage_rises import StageRises
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.solve import solve
from jettison.torch.chain_steps.held_input import with_input, without_input
from jettison.torch.chain_steps.step_chain import step_chain
from jettison.torch.checkpointed_sequential import CheckpointedSequential, Loss
from jettison.torch.no_schedule import no_schedule_error


def checkpoint_sequential_optimal(
    model: nn.Sequential | Sequence[nn.Module],
    *,
    memory: str | int | Memory,
    sample_input: Tensor | None = None,
    chain: Chain | None = None,
    bandwidth: str | int | Link | None = None,
    loss: Loss | None = None,
    sample_loss_arguments: Sequence[Any] = (),
    method: str | None = None,
    time_limit: float | None = 60.0,
    warmup: int = 2,
    repeats: int = 7,
    gradients: ParameterGradients = ParameterGradients.NEW,
    threads: int = 1,
    check: CostCheck = CostCheck.WARN,
) -> CheckpointedSequential:
    r"""Make a sequential model train within `memory`, in the least time.

    Measures the stages once, solves `remat-chain` (rotor, to the byte), or with `bandwidth`
    `remat-offload-chain` (POFO, transfers at once), and returns a module that runs the schedule in
    each step. Inputs must be as large as the sample; a smaller last batch does no harm.

    The last stage of a chain is the loss. There are two ways to have one:

    - ``loss=None``: the returned module gives the model's output, as the model does, and the
      caller computes the loss outside. The chain's last stage is then a mean, which costs next to
      nothing: memory that the caller's own loss needs is not planned for, nor is the output, if the
      caller holds on to it during the backward pass.
    - With `loss` it is a stage: ``module(batch, labels)`` returns ``loss(model(batch), labels)``,
      its time and memory are measured and planned, and its memory is free again when it has run.
      To be preferred where the loss is heavy: logits over a vocabulary.

    Parameters
    ----------
    model
        The stages, in training mode. It is shared, not copied.
    memory
        Bytes (``4 * 2**30``, ``"4GiB"``), a share of the no-saving peak (``"60%"``), or POFO's
        ratio (``"alpha=0.2"``); without parameters and their gradients. Or a `Card`, less what is
        resident on it: by default weights and their gradients, as the chain records them, but no
        states of an optimizer, which a profile does not see.
    sample_input
        One batch, to measure with; not needed with `chain`.
    chain
        What `profile_chain` returned for this model before.
    bandwidth
        Bandwidth of the link to the host, each way (``"12GB/s"``); None for no offloading. What
        has left is held until the limit is reached, so that no operation waits for a copy without
        need: the measured peak may be the limit where a lower one is predicted.
    loss
        None, or a module or function of the output and further arguments.
    sample_loss_arguments
        Further arguments of the loss, to measure with.
    method, time_limit
        As in `solve`.
    warmup, repeats
        As in `profile_chain`.
    gradients
        Gradients of parameters: new in each step, or accumulated over several backward passes,
        which takes more memory.
    threads
        Threads that durations are measured with on a CPU: their ratios count, and with one they
        vary least. Memory is measured with as many as are set, which the steps will run with.
    check
        What becomes of durations that are in doubt: see `CostCheck`.

    Raises
    ------
    InputError
        If the model is no sequence of modules or cannot be measured (see `profile_chain`), or no
        schedule fits: the message has the least memory that would do, where it is known.
    """
    sequential = as_sequential(model)
    if chain is None:
        if sample_input is None:
            raise InputError(
                "neither a sample nor a chain",
                field="sample_input",
                expected="give one batch, or the chain of a profile",
            )
        measured = None if loss is None else LossOfSample(loss, tuple(sample_loss_arguments))
        device = sample_input.device.type
        chain = profile_chain(
            sequential,
            sample_input,
            name=f"sequential-{len(sequential)}-stages-{device}",
            model_name=type(sequential).__name__,
            loss=measured,
            warmup=warmup,
            repeats=repeats,
            gradients=gradients,
            threads=threads,
            check=check,
        )
    first = scheduled = _planned(sequential, chain, memory, bandwidth, method, time_limit, loss)
    # What the executor keeps to repeat stages is no size of the chain, and depends on which stages
    # the schedule repeats. The budget falls each time, so that this ends.
    limit_bytes = first.problem.memory_bytes
    while (excess_bytes := _taken_bytes(scheduled) - limit_bytes) > 0:
        budget = scheduled.problem.memory_bytes - excess_bytes
        try:
            scheduled = _planned(sequential, chain, budget, bandwidth, method, time_limit, loss)
        except InputError:
            _warn(first, limit_bytes)
            return first
    return scheduled


def _planned(
    sequential: nn.Sequential,
    chain: Chain,
    memory: str | int | Memory,
    bandwidth: str | int | Link | None,
    method: str | None,
    time_limit: float | None,
    loss: Loss | None,
) -> CheckpointedSequential:
    if bandwidth is None:
        problem = RematChain(chain, memory)
        step = step_chain(chain)
        whole, gradient_bytes = problem, 0
        if step is not None:
            gradient_bytes = step.gradient_bytes
            whole = RematChain(step.chain, problem.memory_bytes + gradient_bytes)
        result = solve(whole, method, time_limit=time_limit)
        if not isinstance(result.schedule, ChainSchedule):
            raise no_schedule_error(problem, result, besides_bytes=-gradient_bytes)
        return CheckpointedSequential(sequential, problem, result.schedule, loss=loss, step=step)
    moving = RematOffloadChain(chain, memory, bandwidth)
    planned = without_input(moving)
    found = solve(planned or moving, method, time_limit=time_limit)
    if not isinstance(found.schedule, OffloadSchedule):
        held_bytes = 0 if planned is None else chain.input_bytes
        raise no_schedule_error(moving, found, besides_bytes=held_bytes)
    return CheckpointedSequential(sequential, moving, with_input(found.schedule), loss=loss)


def _taken_bytes(scheduled: CheckpointedSequential) -> int:
    """Return what a step takes of its memory, in which no gradient of a parameter counts."""
    rise_bytes = scheduled.predicted.rise_bytes
    if rise_bytes is None:
        return scheduled.predicted.peak_bytes
    chain = scheduled.problem.instance
    rises = (StageRises(*known) for known in chain.provenance.rises.values())
    gradient_bytes = sum(known.gradient_bytes for known in rises)
    return chain.input_bytes + rise_bytes - gradient_bytes


def _warn(scheduled: CheckpointedSequential, limit_bytes: int) -> None:
    taken_bytes = _taken_bytes(scheduled)
    if taken_bytes * 100 > limit_bytes * 101:
        warnings.warn(
            f"a step takes {taken_bytes} bytes and not {limit_bytes}: states of random number "
            "generators and copies of buffers, which are kept to repeat stages, do not fit in as "
            "well, and no plan takes less",
            ProfileWarning,
            stacklevel=3,
        )


def as_sequential(model: nn.Sequential | Sequence[nn.Module]) -> nn.Sequential:
    """Return the stages as one module.

    Raises
    ------
    InputError
        If there is no order in which they run.
    """
    if isinstance(model, nn.Sequential):
        return model
    stages = list(model) if isinstance(model, Iterable) else []
    # A list of modules has an order, a module of one's own any forward method that one likes.
    is_sequence = isinstance(model, Sequence | nn.ModuleList)
    if not is_sequence or not all(isinstance(stage, nn.Module) for stage in stages):
        raise InputError(
            f"a {type(model).__name__}",
            field="model",
            expected="give an nn.Sequential, or a list of modules that run one after the other; "
            "any other module can be profiled as a graph (profile_graph)",
        )
    return nn.Sequential(*stages)


class LossOfSample(nn.Module):
    """Loss of the sample batch, whose arguments are buffers, since they are in memory anyway."""

    def __init__(self, loss: Callable[..., Tensor], arguments: tuple[Any, ...]) -> None:
        super().__init__()
        self.loss = loss
        self._others = dict(enumerate(arguments))
        for place, argument in enumerate(arguments):
            if isinstance(argument, torch.Tensor):
                self.register_buffer(f"argument_{place}", argument)
                del self._others[place]
        self._count = len(arguments)

    def forward(self, output: Tensor) -> Tensor:
        """Return the loss of an output."""
        arguments = (
            self._others[place] if place in self._others else getattr(self, f"argument_{place}")
            for place in range(self._count)
        )
        value: Tensor = self.loss(output, *arguments)
        return value
