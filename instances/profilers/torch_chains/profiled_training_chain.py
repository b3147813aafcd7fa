"""Profiler of an ``nn.Sequential`` with its optimizer, as a chain to train in one budget."""

from __future__ import annotations

from collections.abc import Callable
from importlib import util
from typing import TYPE_CHECKING

from jettison.instances.core.errors import MissingExtraError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.remat_chain.chain import Chain

if TYPE_CHECKING:
    from torch import Tensor, nn

    from jettison.instances.profilers.torch_chains.optimizer_measurement import OptimizerOf


def profile_training_chain(
    model: nn.Sequential,
    sample_input: Tensor,
    *,
    name: str,
    model_name: str,
    optimizer: OptimizerOf,
    loss: Callable[[Tensor], Tensor] | None = None,
    warmup: int = 2,
    repeats: int = 7,
    threads: int | None = None,
    check: CostCheck = CostCheck.WARN,
) -> Chain:
    """Measure every stage of a sequential model, and the update of its weights.

    `profile_chain` measures forward and backward operations, with new gradients in each step. Then
    the optimizer updates copies of the weights of one stage after the other, on the device of the
    input and on the host: durations are lower quartiles, sizes are those of the gradients and of
    states of more than one number.

    With a model on the host and an input on a GPU, stages are measured one by one on the GPU
    (`profile_stage_by_stage`), which the weights of all need not fit together.

    Parameters
    ----------
    model, sample_input, name, model_name, loss, warmup, repeats, threads, check
        As of `profile_chain`.
    optimizer
        Makes the optimizer of some parameters:
        ``lambda parameters: torch.optim.AdamW(parameters, lr=1e-4)``.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    InputError
        As of `profile_chain`; if the optimizer needs a closure.
    """
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "profiling a model")
    # PyTorch loads when a model is profiled and not before.
    import torch

    from jettison.instances.profilers.torch_chains.optimizer_measurement import (
        measure_updates,
        with_updates,
    )
    from jettison.instances.profilers.torch_chains.stagewise_profile import profile_stage_by_stage

    if any(parameter.device != sample_input.device for parameter in model.parameters()):
        chain = profile_stage_by_stage(
            model,
            sample_input,
            name=name,
            model_name=model_name,
            loss=loss,
            warmup=warmup,
            repeats=repeats,
            threads=threads,
        )
    else:
        chain = profile_chain(
            model,
            sample_input,
            name=name,
            model_name=model_name,
            loss=loss,
            warmup=warmup,
            repeats=repeats,
            gradients=ParameterGradients.NEW,
            threads=threads,
            check=check,
        )
    updates = measure_updates(
        [*model, loss],
        optimizer,
        sample_input.device,
        warmup=warmup,
        repeats=repeats,
        threads=threads or torch.get_num_threads(),
    )
    return with_updates(chain, updates)
