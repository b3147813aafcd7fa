"""Profiler of training steps that need more memory than there is, as one multi-model instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.core.units import exact_bytes
from jettison.instances.multi_model.feature_map import FeatureMap
from jettison.instances.multi_model.fused_profile import fused_profile
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.profilers.device.timing import Spread
from jettison.instances.profilers.torch_graphs.fused.fused_program import FusedProgram
from jettison.instances.profilers.torch_graphs.fused.optimizers import Hyperparameters
from jettison.instances.profilers.torch_graphs.fused.swapping_run import (
    SwappedProfile,
    SwappingRun,
    larger_ns,
    least_profiling_bytes,
)
from jettison.instances.profilers.torch_graphs.graph_assembly import step_provenance
from jettison.instances.profilers.torch_graphs.operation_reader import (
    TracedOperation,
)
from jettison.instances.remat_graph.graph import Graph

_SECOND_NS = 10**9
# Where nothing was copied: as fast as a byte in a nanosecond.
_NOTHING_COPIED = _SECOND_NS


@dataclass(frozen=True, slots=True)
class TrainingProfile:
    """Profile of models that are trained together, with the programs that were measured.

    Attributes
    ----------
    instance
        The multi-model instance, with a measured time for the copies of each feature map.
    programs
        The program for each number of fused models.
    profiles
        What was measured of each.
    """

    instance: MultiModel
    programs: Mapping[int, FusedProgram]
    profiles: Mapping[int, SwappedProfile]


def profile_training(
    steps: Sequence[nn.Module],
    inputs: tuple[Tensor, ...],
    hyperparameters: Sequence[Hyperparameters],
    *,
    name: str,
    model_name: str,
    model_arguments: Mapping[str, Scalar] = MappingProxyType({}),
    sizes: Sequence[int] | None = None,
    memory_bytes: int | None = None,
    warmup: int = 1,
    repeats: int = 3,
) -> TrainingProfile:
    """Trace and measure training steps of fused models, optimizer steps included.

    Each step runs on the device of the sample, operator by operator, and swaps its feature maps
    (`SwappingRun`), so that no more than `memory_bytes` are held. Sizes follow from the trace:
    they are what `profile_multi_model` has, and states of the optimizer are added to the static
    memory. The time of a copy is that of the slower direction.

    Parameters
    ----------
    steps
        The models, each with its loss, alike; their parameters are copied.
    inputs
        A batch of one model, and what else its step takes.
    hyperparameters
        Those of each model's optimizer.
    name, model_name, model_arguments
        Names of the instance and of the model, and its arguments, for the provenance.
    sizes
        The numbers of models that may be fused; all if not given. One alone is left out where it is
        another program than several, and so are those that cannot be measured in the memory.
    memory_bytes
        The limit, in which a profile is measured; None for no limit.
    warmup, repeats
        Iterations before, and for, the measurement.

    Raises
    ------
    InputError
        If a step cannot be fused, traced or repeated (`FusedProgram.of`), or no size fits.
    """
    asked = list(range(1, len(steps) + 1) if sizes is None else sizes)
    if not asked or not all(isinstance(size, int) and 1 <= size <= len(steps) for size in asked):
        raise InputError(
            f"{asked}", field="sizes", expected=f"write numbers from 1 to {len(steps)}"
        )
    asked = sorted(set(asked))
    device = inputs[0].device
    programs = {
        size: FusedProgram.of(steps[:size], inputs, hyperparameters[:size], like=hyperparameters)
        for size in asked
    }
    note = "operators were run one by one, and feature maps swapped in between"
    several = next((size for size in asked if size > 1), None)
    if 1 in programs and several is not None and _shape(programs[1]) != _shape(programs[several]):
        del programs[1]
        note += "; one model alone is another program and left out"
    if memory_bytes is not None:
        needed = {size: least_profiling_bytes(program) for size, program in programs.items()}
        least = min(needed.values())
        if memory_bytes < least:
            raise InputError(
                f"{exact_bytes(memory_bytes)} do not hold what is resident and one operator",
                field="memory",
                expected=f"give {exact_bytes(least)} or more",
            )
        programs = {size: item for size, item in programs.items() if needed[size] <= memory_bytes}
        note += f"; within {memory_bytes} bytes"
    profiles: dict[int, SwappedProfile] = {}
    for size, program in programs.items():
        stacked = [torch.stack([item] * size) for item in inputs]
        tensors = program.tensors(steps[:size], stacked, device)
        run = SwappingRun(program, tensors, program.optimizer, device, memory_bytes)
        profiles[size] = run.measure(warmup=warmup, repeats=repeats)
    largest = max(profiles)
    provenance = replace(
        step_provenance(
            inputs[0],
            _Measurements(note, profiles[largest].spreads),
            model_name=model_name,
            model_arguments=model_arguments,
            samples=int(inputs[0].shape[0]) if inputs[0].dim() else 1,
        ),
        warmup=warmup,
        repeats=repeats,
    )
    graphs = {
        size: program.graph(f"{name} {size}", profiles[size].spreads, provenance)
        for size, program in programs.items()
    }
    return TrainingProfile(
        instance=_instance(name, graphs, programs, profiles, len(steps), provenance),
        programs=programs,
        profiles=profiles,
    )


def _instance(
    name: str,
    graphs: Mapping[int, Graph],
    programs: Mapping[int, FusedProgram],
    profiles: Mapping[int, SwappedProfile],
    models: int,
    provenance: Provenance,
) -> MultiModel:
    found = fused_profile(
        name,
        graphs,
        {size: program.static_bytes for size, program in programs.items()},
        bandwidth=_NOTHING_COPIED,
        models=models,
        provenance=provenance,
    )

    def swap_ns(tensor: FeatureMap) -> tuple[int, ...]:
        return tuple(larger_ns(profiles[size].swaps[tensor.name]) for size in found.sizes)

    maps = tuple(replace(tensor, swap_ns=swap_ns(tensor)) for tensor in found.feature_maps)
    copied_bytes = sum(sum(tensor.size_bytes) for tensor in maps)
    copied_ns = sum(sum(tensor.swap_ns) for tensor in maps)
    if copied_bytes and copied_ns:
        bandwidth = max(1, copied_bytes * _SECOND_NS // copied_ns)
        return replace(found, feature_maps=maps, bandwidth=bandwidth)
    return replace(found, feature_maps=maps)


@dataclass(frozen=True, slots=True)
class _Measurements:
    """Source of the durations of operations, for the provenance."""

    note: str
    spreads: Mapping[str, Spread]
    source: str = "torch-profile"
    assumed_device: None = None

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return what was measured of an operation."""
        return self.spreads[operation.name]


def _shape(program: FusedProgram) -> list[tuple[str, tuple[str, ...]]]:
    return [(item.name, item.inputs) for item in program.traced.operations]
