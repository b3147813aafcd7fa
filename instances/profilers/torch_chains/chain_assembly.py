"""Assembly of the measured or modelled stages of a model as a chain, and checks of the model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_chains.stage import ChainStage, check_sequential
from jettison.instances.profilers.torch_chains.stage_measurement import StageMeasurement
from jettison.instances.remat_chain.chain import Stage


def assemble_stages(
    stages: tuple[ChainStage, ...],
    measured: list[StageMeasurement],
    input_bytes: int,
) -> tuple[Stage, ...]:
    """Return the stages of the chain, with the numbers of each."""
    chain: list[Stage] = []
    counted: set[int] = set()
    given_bytes = input_bytes
    passed_bytes = [known.memory.input_gradient_bytes for known in measured[1:]]
    for stage, known, gradient_bytes in zip(stages, measured, [*passed_bytes, 0], strict=True):
        new = [parameter for parameter in stage.parameters if id(parameter) not in counted]
        counted.update(id(parameter) for parameter in new)
        chain.append(
            Stage(
                name=stage.name,
                forward_ns=known.time.forward_ns[1],
                backward_ns=known.time.backward_ns[1],
                output_bytes=known.memory.output_bytes,
                saved_bytes=known.memory.saved_bytes,
                forward_overhead_bytes=known.memory.forward_overhead_bytes,
                saving_overhead_bytes=known.memory.saving_overhead_bytes,
                backward_overhead_bytes=known.memory.backward_overhead_bytes(given_bytes),
                weight_bytes=sum(
                    int(parameter.numel()) * int(parameter.element_size()) for parameter in new
                ),
                output_gradient_bytes=gradient_bytes,
            )
        )
        given_bytes = gradient_bytes
    return tuple(chain)


def check_model(model: nn.Sequential, sample_input: object) -> None:
    """Check that a model is a chain in training mode and its input a tensor.

    Raises
    ------
    InputError
        If not.
    """
    check_sequential(model)
    if len(model) == 0:
        raise InputError(
            "the nn.Sequential is empty", field="model", expected="give at least one stage"
        )
    if not model.training:
        raise InputError(
            "the model is in evaluation mode",
            field="model",
            expected="call model.train() first: a training step is what is profiled",
        )
    if not isinstance(sample_input, torch.Tensor):
        raise InputError(
            f"a {type(sample_input).__name__} is not a tensor",
            field="sample_input",
            expected="give one batch as a tensor",
        )


def dtype_name(model: nn.Sequential, sample_input: Tensor) -> str:
    """Return the name of the type that a model computes with."""
    # Token ids are integers; what the model computes with is the type of its parameters.
    first = next((p for p in model.parameters() if p.is_floating_point()), sample_input)
    return str(first.dtype).removeprefix("torch.")
