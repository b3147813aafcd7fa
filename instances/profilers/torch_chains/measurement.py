"""Measurement of all stages of a model, put together as a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.profilers.cost_check import CostCheck, CostFigures, fair_sample
from jettison.instances.profilers.device.device_name import device_name, library_versions
from jettison.instances.profilers.device.machine_watch import MachineWatch
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.device.threads import threads_set, use_allocator
from jettison.instances.profilers.earlier_profiles import OF_THIS_PROGRAM, profile_key
from jettison.instances.profilers.torch_chains.chain_assembly import (
    assemble_stages,
    check_model,
    dtype_name,
)
from jettison.instances.profilers.torch_chains.partial_gradients import expect_no_crash
from jettison.instances.profilers.torch_chains.stage import (
    ChainStage,
    chain_stages,
    with_inputs,
)
from jettison.instances.profilers.torch_chains.stage_measurement import (
    MeasurementLog,
    StageMeasurement,
)
from jettison.instances.profilers.torch_chains.stage_memory import measure_memory, memory_meter
from jettison.instances.profilers.torch_chains.stage_time import StageTime, measure_time
from jettison.instances.profilers.whole_steps import whole_steps_ns
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
    threads: int | None,
    check: CostCheck,
) -> Chain:
    """Measure a chain; `profile_chain` documents the arguments, sizes and errors."""
    check_model(model, sample_input)
    _check_runs(warmup, repeats)
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
        runs = _Runs(warmup, repeats, threads or torch.get_num_threads())
        use_allocator()
        watch = MachineWatch(device, runs.threads)
        measured = _measure(stages, stage_input, runs, log, watch)
        input_bytes = int(stage_input.numel()) * int(stage_input.element_size())
        assembled = assemble_stages(stages, measured, input_bytes)
        earlier_ns = _earlier_ns(name, input_bytes, assembled, modules, device, runs.threads)
        if check is CostCheck.TRUST:
            machine = watch.state()
        else:
            peak_bytes = input_bytes + sum(
                stage.saved_bytes + 2 * stage.weight_bytes for stage in assembled
            )
            figures = _figures(stages, stage_input, measured, runs, peak_bytes)
            machine = watch.state()
            replace(figures, machine=machine, earlier_ns=earlier_ns).settle(check, name)

    return Chain(
        name=name,
        input_bytes=input_bytes,
        stages=assembled,
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
            dtype=dtype_name(model, sample_input),
            warmup=warmup,
            repeats=repeats,
            parameter_gradients=str(gradients),
            spread={
                f"{stage.name} {operation}": getattr(known.time, operation)
                for stage, known in zip(stages, measured, strict=True)
                for operation in ("forward_ns", "backward_ns")
            },
            rises={
                stage.name: known.memory.rises
                for stage, known in zip(stages, measured, strict=True)
            },
            machine=machine.to_provenance(),
            note=f"CPU threads: {runs.threads}" if device.type == "cpu" else None,
        ),
    )


def _measure(
    stages: tuple[ChainStage, ...],
    sample_input: Tensor,
    runs: _Runs,
    log: MeasurementLog,
    watch: MachineWatch,
) -> list[StageMeasurement]:
    measured = []
    for number, (stage, stage_input) in enumerate(with_inputs(stages, sample_input), start=1):
        known = log.recall(stage.name)
        if known is None:
            log.starting(number, len(stages), stage.name)
            known = _measure_stage(stage, stage_input, runs)
            log.record(stage.name, known)
            watch.look()
        measured.append(known)
    _follow_layouts(stages, sample_input, measured, log)
    return measured


def _measure_stage(stage: ChainStage, stage_input: Tensor, runs: _Runs) -> StageMeasurement:
    stage.first_forward(stage_input)
    expect_no_crash(stage, stage_input)
    time = runs.time(stage, stage_input)
    # The meter slows down what runs inside it: it is closed while durations are measured.
    with memory_meter(stage_input.device) as meter:
        memory = measure_memory(stage, stage_input, meter)
    return StageMeasurement(time, memory)


def _follow_layouts(
    stages: tuple[ChainStage, ...],
    sample_input: Tensor,
    measured: list[StageMeasurement],
    log: MeasurementLog,
) -> None:
    """Measure the memory of stages again whose gradients come in another layout than assumed.

    The memory of a stage is measured with a gradient laid out as its output, since the stage after
    it has not run yet. What that one returns is known then, and may be a contiguous gradient of an
    output in channels-last layout, or an expanded one of a mean. A stage that is measured again may
    return its own gradient in another layout; the last stage that is not settled comes before the
    one of the round before, so that there are at most as many rounds as stages.
    """
    while wanted := {
        place: known.memory.input_gradient_layout
        for place, known in enumerate(measured[1:])
        if measured[place].memory.gradient_layout is not None
        and known.memory.input_gradient_layout is not None
        and measured[place].memory.gradient_layout != known.memory.input_gradient_layout
    }:
        for place, (stage, stage_input) in enumerate(with_inputs(stages, sample_input)):
            if place in wanted:
                with memory_meter(stage_input.device) as meter:
                    memory = measure_memory(stage, stage_input, meter, wanted[place])
                measured[place] = StageMeasurement(measured[place].time, memory)
                log.record(stage.name, measured[place])
            if place == max(wanted):
                break


def _figures(
    stages: tuple[ChainStage, ...],
    sample_input: Tensor,
    measured: list[StageMeasurement],
    runs: _Runs,
    peak_bytes: int,
) -> CostFigures:
    both_ns = [known.time.forward_ns[1] + known.time.backward_ns[1] for known in measured]
    sample = set(fair_sample(both_ns))
    again_ns = 0
    for place, (stage, stage_input) in enumerate(with_inputs(stages, sample_input)):
        if place in sample:
            time = runs.time(stage, stage_input)
            again_ns += time.forward_ns[1] + time.backward_ns[1]
        if place == max(sample, default=-1):
            break

    def loss() -> Tensor:
        value = sample_input
        for stage in stages:
            value = stage.call(value)
        return value.sum()

    return CostFigures(
        spreads=tuple(
            spread
            for known in measured
            for spread in (known.time.forward_ns, known.time.backward_ns)
        ),
        step_ns=whole_steps_ns(
            loss,
            [sample_input, *{id(p): p for stage in stages for p in stage.parameters}.values()],
            sample_input.device,
            peak_bytes=peak_bytes,
            threads=runs.threads,
        ),
        sample_ns=sum(both_ns[place] for place in sample),
        again_ns=again_ns,
    )


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of a stage before and for a measurement, and the threads that it runs with."""

    warmup: int
    repeats: int
    threads: int

    def time(self, stage: ChainStage, stage_input: Tensor) -> StageTime:
        """Measure the durations of a stage."""
        with threads_set(self.threads):
            return measure_time(stage, stage_input, warmup=self.warmup, repeats=self.repeats)


def _earlier_ns(
    name: str,
    input_bytes: int,
    stages: tuple[Stage, ...],
    modules: Sequence[nn.Module],
    device: torch.device,
    threads: int,
) -> tuple[int, ...]:
    chain = Chain(name, input_bytes, stages)
    form = "; ".join(map(str, modules))
    key = profile_key(chain, str(device), threads, form)
    return OF_THIS_PROGRAM.add(key, chain.base_time_ns)


def _check_runs(warmup: int, repeats: int) -> None:
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
