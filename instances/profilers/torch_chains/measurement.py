"""Measurement of all stages of a model, put together as a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib import metadata

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.profilers.device.device_name import device_name, library_versions
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.torch_chains.stage import (
    ChainStage,
    chain_stages,
    check_sequential,
    with_inputs,
)
from jettison.instances.profilers.torch_chains.stage_measurement import (
    MeasurementLog,
    StageMeasurement,
)
from jettison.instances.profilers.torch_chains.stage_memory import measure_memory, memory_meter
from jettison.instances.profilers.torch_chains.stage_time import measure_time
from jettison.instances.remat_chain.chain import Chain, Stage


def measure_chain(
    model: nn.Sequential,
    sample_input: Tensor,
    *,
    name: str,
    model_name: str,
    model_arguments: Mapping[str, Scalar],
    loss: Callable[[Tensor], Tensor] | None,
    warmup: int,
    repeats: int,
    gradients: ParameterGradients,
    log: MeasurementLog,
) -> Chain:
    """Measure a chain; `profile_chain` documents the arguments, sizes and errors."""
    _check_arguments(model, sample_input, warmup, repeats)
    device = sample_input.device
    _check_devices(model, device)
    modules = [model]
    if isinstance(loss, torch.nn.Module):
        _check_devices(loss, device)
        modules.append(loss)

    stages = chain_stages(model, loss or torch.mean, gradients)
    current = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    with (
        current,
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        left_as_found(modules, device),
    ):
        # A copy: dense, and safe from a stage that turns out to write into its input.
        stage_input = sample_input.detach().clone().requires_grad_(sample_input.requires_grad)
        measured = _measure(stages, stage_input, warmup, repeats, log)

    input_bytes = int(stage_input.numel()) * int(stage_input.element_size())
    return Chain(
        name=name,
        input_bytes=input_bytes,
        stages=tuple(_assemble(stages, measured, input_bytes)),
        backward_overhead_holds_gradient=False,
        provenance=Provenance(
            source="torch-profile",
            device=device_name(device),
            device_kind=device.type,
            date=datetime.now(UTC).date().isoformat(),
            exporter=f"jettison {metadata.version('jettison')}",
            libraries=library_versions(device),
            model=model_name,
            model_arguments=model_arguments,
            batch=int(sample_input.shape[0]) if sample_input.dim() else None,
            input_shape=tuple(int(extent) for extent in sample_input.shape),
            dtype=_dtype_name(model, sample_input),
            warmup=warmup,
            repeats=repeats,
            parameter_gradients=str(gradients),
            spread={
                f"{stage.name} {operation}": getattr(known.time, operation)
                for stage, known in zip(stages, measured, strict=True)
                for operation in ("forward_ns", "backward_ns")
            },
            note=f"CPU threads: {torch.get_num_threads()}" if device.type == "cpu" else None,
        ),
    )


def _measure(
    stages: tuple[ChainStage, ...],
    sample_input: Tensor,
    warmup: int,
    repeats: int,
    log: MeasurementLog,
) -> list[StageMeasurement]:
    measured = []
    for number, (stage, stage_input) in enumerate(with_inputs(stages, sample_input), start=1):
        known = log.recall(stage.name)
        if known is None:
            log.starting(number, len(stages), stage.name)
            known = _measure_stage(stage, stage_input, warmup, repeats)
            log.record(stage.name, known)
        measured.append(known)
    return measured


def _measure_stage(
    stage: ChainStage, stage_input: Tensor, warmup: int, repeats: int
) -> StageMeasurement:
    stage.first_forward(stage_input)
    if stage.is_loss and not stage_input.requires_grad:
        raise InputError(
            "no gradient reaches the model's output",
            field="model",
            expected="train at least one parameter (requires_grad=True)",
        )
    time = measure_time(stage, stage_input, warmup=warmup, repeats=repeats)
    # The meter slows down what runs inside it: it is closed while durations are measured.
    with memory_meter(stage_input.device) as meter:
        memory = measure_memory(stage, stage_input, meter)
    return StageMeasurement(time, memory)


def _assemble(
    stages: tuple[ChainStage, ...],
    measured: list[StageMeasurement],
    input_bytes: int,
) -> list[Stage]:
    chain: list[Stage] = []
    counted: set[int] = set()
    gradient_bytes = input_bytes
    for stage, known in zip(stages, measured, strict=True):
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
                backward_overhead_bytes=known.memory.backward_overhead_bytes(gradient_bytes),
                weight_bytes=sum(
                    int(parameter.numel()) * int(parameter.element_size()) for parameter in new
                ),
            )
        )
        gradient_bytes = known.memory.output_bytes
    return chain


def _check_arguments(model: nn.Sequential, sample_input: object, warmup: int, repeats: int) -> None:
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
    if warmup < 0 or repeats < 1:
        raise InputError(
            f"warmup={warmup} and repeats={repeats}",
            field="repeats",
            expected="repeat at least once, after 0 or more runs of warm-up",
        )


def _check_devices(module: nn.Module, device: torch.device) -> None:
    if device.type not in {"cpu", "cuda"}:
        raise InputError(
            f"the device {device} cannot be measured",
            field="sample_input",
            expected="move the model and the input to a CPU or CUDA device",
        )
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if tensor.device != device:
            raise InputError(
                f"{name} is on {tensor.device}, the input on {device}",
                field="model",
                expected=f'move it with model.to("{device}")',
            )


def _dtype_name(model: nn.Sequential, sample_input: Tensor) -> str:
    # Token ids are integers; what the model computes with is the type of its parameters.
    first = next((p for p in model.parameters() if p.is_floating_point()), sample_input)
    return str(first.dtype).removeprefix("torch.")
