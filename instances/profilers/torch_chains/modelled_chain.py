"""Chain of a model whose stages never run: sizes from fake tensors, durations from a roofline.

The stages run on fake tensors, which have shapes and storages and no contents. What autograd saves,
what an operator returns and when a storage is released are those of a real step, so that sizes and
overheads are those that `measure_chain` finds, except for what a kernel allocates for itself.
Operators are those of PyTorch on a CPU, which a GPU shares but for the mask of a dropout: there it
takes as many bytes as the input, on a GPU one for each number.

Durations are sums of rooflines (`modelled_time`). A batch that fits no memory here can be modelled:
of all tensors only the parameters and the input exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import metadata, util
from types import MappingProxyType
from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.profilers.device.rates import A100, DeviceRates
from jettison.instances.remat_chain.chain import Chain

if TYPE_CHECKING:
    from torch import Tensor, nn

    from jettison.instances.profilers.torch_chains.stage import ChainStage
    from jettison.instances.profilers.torch_chains.stage_measurement import StageMeasurement


def model_chain(
    model: nn.Sequential,
    sample_input: Tensor,
    *,
    name: str,
    model_name: str,
    model_arguments: Mapping[str, Scalar] = MappingProxyType({}),
    loss: Callable[[Tensor], Tensor] | None = None,
    rates: DeviceRates = A100,
    gradients: ParameterGradients = ParameterGradients.NEW,
) -> Chain:
    """Return the chain of a sequential model without running it: exact sizes, modelled durations.

    Parameters
    ----------
    model, sample_input, name, model_name, model_arguments, loss, gradients
        As of `profile_chain`. A loss that holds tensors of its own must be a module.
    rates
        Rates of the device of the roofline.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    InputError
        As of `profile_chain`, and if a stage needs the values of its input.
    """
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "modelling a chain")
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from jettison.instances.profilers.device.device_name import library_versions
    from jettison.instances.profilers.torch_chains.chain_assembly import (
        assemble_stages,
        check_model,
        dtype_name,
    )
    from jettison.instances.profilers.torch_chains.fake_model import with_fakes
    from jettison.instances.profilers.torch_chains.stage import chain_stages, with_inputs

    check_model(model, sample_input)
    modules: list[nn.Module] = [model, *([loss] if isinstance(loss, torch.nn.Module) else [])]
    mode = FakeTensorMode()
    with torch.inference_mode(mode=False), torch.enable_grad(), with_fakes(modules, mode), mode:
        stages = chain_stages(model, loss or torch.mean, gradients)
        # Dense, as the copy that is measured.
        stage_input = torch.empty(
            sample_input.shape, dtype=sample_input.dtype, requires_grad=sample_input.requires_grad
        )
        known = [
            _modelled(stage, its_input, rates)
            for stage, its_input in with_inputs(stages, stage_input)
        ]
    input_bytes = int(sample_input.numel()) * int(sample_input.element_size())
    return Chain(
        name=name,
        input_bytes=input_bytes,
        stages=assemble_stages(stages, known, input_bytes),
        backward_overhead_holds_gradient=False,
        provenance=Provenance(
            source="modelled",
            device=rates.assumed_device,
            device_kind="cuda",
            date=datetime.now(UTC).date().isoformat(),
            exporter=f"jettison {metadata.version('jettison')}",
            libraries=library_versions(torch.device("cpu")),
            model=model_name,
            model_arguments=model_arguments,
            batch=int(sample_input.shape[0]) if sample_input.dim() else None,
            input_shape=tuple(int(extent) for extent in sample_input.shape),
            dtype=dtype_name(model, sample_input),
            parameter_gradients=str(gradients),
            note=f"{rates.note}; sizes are those of fake tensors",
        ),
    )


def _modelled(stage: ChainStage, stage_input: Tensor, rates: DeviceRates) -> StageMeasurement:
    from jettison.instances.profilers.device.memory_fake import FakeMemoryMeter
    from jettison.instances.profilers.torch_chains.modelled_time import modelled_time
    from jettison.instances.profilers.torch_chains.stage import NEEDS_CONTENTS
    from jettison.instances.profilers.torch_chains.stage_measurement import StageMeasurement
    from jettison.instances.profilers.torch_chains.stage_memory import measure_memory

    try:
        stage.first_forward(stage_input)
        time = modelled_time(stage, stage_input, rates)
        with FakeMemoryMeter() as meter:
            return StageMeasurement(time, measure_memory(stage, stage_input, meter))
    except NEEDS_CONTENTS as error:
        raise InputError(
            f"it cannot run on tensors without contents: {str(error).splitlines()[0]}",
            field=stage.name,
            expected="measure it: --costs measured",
        ) from None
