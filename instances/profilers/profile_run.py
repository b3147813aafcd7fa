"""Profiling run: a model on its device, the name of its instance, and its settings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import torch

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.profilers.device.device_name import device_name, library_versions
from jettison.instances.profilers.device.processor_name import short_device_name
from jettison.instances.profilers.settings import ProfileSettings
from jettison.instances.profilers.target import code_sha256
from jettison.instances.profilers.torch_chains.modelled_chain import model_chain
from jettison.instances.profilers.torch_chains.partial_profile import PartialProfile
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.profilers.torch_chains.stage_log import STAGES, StageLog
from jettison.instances.profilers.torch_chains.stage_measurement import StageMeasurement
from jettison.instances.profilers.torch_graphs.fused_profiles import profile_multi_model
from jettison.instances.profilers.torch_graphs.operation_log import OPERATIONS, OperationLog, Spread
from jettison.instances.profilers.torch_graphs.operator_cost import Measured, Roofline
from jettison.instances.profilers.torch_graphs.spread_log import SpreadLog
from jettison.instances.profilers.torch_graphs.traced_graph import profile_graph
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.zoo.call_arguments import tensors_in
from jettison.instances.zoo.workload import Workload

# Operations are many and short: their file is written once in a while.
PATIENCE_S = 1.0


def device_of(settings: ProfileSettings) -> torch.device:
    """Return the PyTorch device of the settings, after setting the number of threads.

    Raises
    ------
    InputError
        If PyTorch sees no GPU and one is asked for.
    """
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "PyTorch sees no GPU here",
            field="device",
            expected="write cpu, or install a PyTorch that fits the driver",
        )
    torch.set_num_threads(settings.threads)
    return torch.device("cuda", 0) if settings.device == "cuda" else torch.device("cpu")


class ProfileRun:
    """Profiling run of a PyTorch model: measures or traces it into an instance.

    Parameters
    ----------
    target
        The target as the user named it.
    workload
        The workload of the target; it is moved to the device.
    settings
        Where and how often operations run.

    Attributes
    ----------
    name
        Target, batch, input and device: the name of the instance.

    Raises
    ------
    InputError
        If there is no such device, or the model does not fit its memory.
    """

    def __init__(self, target: str, workload: Workload, settings: ProfileSettings) -> None:
        self._device = device_of(settings)
        self._target = target
        self._settings = settings
        samples, *extents = workload.batch.shape
        sizes = "x".join(map(str, extents)) or "1"
        self._stem = f"{target.replace(':', '-')}-b{samples}-{sizes}"
        short = short_device_name(device_name(self._device), settings.device)
        self.name = f"{self._stem}-{short}"
        with self._fitting():
            self._workload = workload.to(self._device)

    def stages(self, path: Path) -> PartialProfile[StageMeasurement]:
        """Return the stages that an earlier run like this one has left in a file.

        Raises
        ------
        InputError
            If the file is something else.
        """
        key = {**self._key("chain"), "gradients": str(self._settings.gradients)}
        return PartialProfile(path, key, STAGES)

    def operations(self, path: Path, kind: str) -> PartialProfile[Spread]:
        """Return the operations that an earlier run like this one has left in a file.

        Raises
        ------
        InputError
            If the file is something else.
        """
        return PartialProfile(path, self._key(kind), OPERATIONS, patience_s=PATIENCE_S)

    def modelled_chain(self, name: str | None = None) -> Chain:
        """Return the chain without running its stages: a roofline, and sizes of fake tensors.

        Raises
        ------
        InputError
            If the model is no chain, or needs the values of its input.
        """
        return model_chain(
            self._workload.model,
            self._tensor("chain"),
            name=name or self.instance_name("roofline"),
            model_name=self._workload.model_name,
            model_arguments=self._workload.model_arguments,
            loss=self._workload.loss,
            rates=self._settings.rates,
            gradients=self._settings.gradients,
        )

    def chain(
        self,
        partial: PartialProfile[StageMeasurement],
        announce: Callable[[int, int, str], None] = lambda number, count, stage: None,
        name: str | None = None,
    ) -> Chain:
        """Measure the stages that no earlier run has measured, and return the chain.

        Raises
        ------
        InputError
            If the model is no chain, or a stage does not fit the memory of the device.
        """
        with self._fitting():
            return profile_chain(
                self._workload.model,
                self._tensor("chain"),
                name=name or self.name,
                model_name=self._workload.model_name,
                model_arguments=self._workload.model_arguments,
                loss=self._workload.loss,
                warmup=self._settings.warmup,
                repeats=self._settings.repeats,
                gradients=self._settings.gradients,
                log=StageLog(partial, announce),
                check=self._settings.check,
            )

    def graph(
        self,
        costs: str,
        partial: PartialProfile[Spread],
        announce: Callable[[str], None] = lambda name: None,
        name: str | None = None,
    ) -> Graph:
        """Trace the step and return its graph; `costs` is ``measured`` or ``roofline``.

        Raises
        ------
        InputError
            If the step cannot be traced, or an operation does not fit the memory of the device.
        """
        cost = self._cost(costs, partial, announce)
        with self._fitting(), _flushing(partial):
            graph = profile_graph(
                self._workload.model,
                self._workload.sample_input,
                name=name or self.instance_name(costs),
                model_name=self._workload.model_name,
                model_arguments=self._workload.model_arguments,
                loss=self._workload.loss,
                cost=cost,
                check=self._settings.check,
            )
        if costs != "measured":
            return graph
        return replace(graph, provenance=self._counted(graph.provenance, cost.of_operations()))

    def multi_model(
        self,
        costs: str,
        partial: PartialProfile[Spread],
        announce: Callable[[str], None] = lambda name: None,
        name: str | None = None,
        *,
        models: int,
        bandwidth: int,
    ) -> MultiModel:
        """Trace the fused steps of 1 to `models` models, and return the multi-model instance.

        Raises
        ------
        InputError
            As `graph`, and if the step cannot be fused.
        """
        cost = self._cost(costs, partial, announce)
        with self._fitting(), _flushing(partial):
            found = profile_multi_model(
                self._workload.model,
                self._tensor("multi-model"),
                self._workload.loss,
                cost,
                models=models,
                bandwidth=bandwidth,
                check=self._settings.check,
                name=name or self.multi_model_name(costs, models),
                model_name=self._workload.model_name,
                model_arguments=self._workload.model_arguments,
            )
        if costs != "measured":
            return found
        return replace(found, provenance=self._counted(found.provenance, cost.of_steps()))

    def _tensor(self, kind: str) -> torch.Tensor:
        sample = self._workload.sample_input
        if not isinstance(sample, torch.Tensor):
            raise InputError(
                f"a {kind} of a model that takes a {type(sample).__name__} of arguments",
                field="kind",
                expected="write --kind graph, or return a model of one tensor",
            )
        return sample

    def _counted(self, provenance: Provenance, spread: Mapping[str, Spread]) -> Provenance:
        return replace(
            provenance,
            warmup=self._settings.warmup,
            repeats=self._settings.repeats,
            spread=spread,
        )

    def instance_name(self, costs: str) -> str:
        """Return the name of a chain or graph, which says whether its durations were measured."""
        if costs == "measured":
            return self.name
        label = self._settings.rates.label
        return f"{self._stem}-{label}-{costs}" if label else f"{self._stem}-{costs}"

    def multi_model_name(self, costs: str, models: int) -> str:
        """Return the name of a multi-model instance."""
        return f"{self.instance_name(costs)}-x{models}"

    def _cost(
        self, costs: str, partial: PartialProfile[Spread], announce: Callable[[str], None]
    ) -> SpreadLog:
        if costs == "roofline":
            return SpreadLog(Roofline(self._settings.rates))
        return SpreadLog(
            Measured(
                self._device,
                warmup=self._settings.warmup,
                repeats=self._settings.repeats,
                threads=self._settings.threads,
                announce=announce,
                known=OperationLog(partial),
            )
        )

    def _key(self, kind: str) -> dict[str, Scalar]:
        sample = self._workload.batch
        state = [
            f"{name} {tuple(tensor.shape)} {tensor.dtype}"
            for name, tensor in self._workload.model.state_dict().items()
        ]
        architecture = "\n".join([repr(self._workload.model), repr(self._workload.loss), *state])
        return {
            "kind": kind,
            "target": self._target,
            **{f"set {name}": value for name, value in self._workload.model_arguments.items()},
            "batch and input": ", ".join(
                "x".join(map(str, item.shape)) for item in tensors_in(self._workload.sample_input)
            ),
            "dtype": str(sample.dtype),
            "architecture": hashlib.sha256(architecture.encode()).hexdigest(),
            "code": code_sha256(self._target),
            **device_key(self._device, self._settings),
        }

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        try:
            yield
        except torch.OutOfMemoryError:
            raise too_large(self.name, self._device) from None


def device_key(device: torch.device, settings: ProfileSettings) -> dict[str, Scalar]:
    """Return what measurements depend on besides the model: device, versions and settings."""
    return {
        "device": device_name(device),
        **{f"version of {name}": version for name, version in library_versions(device).items()},
        "version of jettison": metadata.version("jettison"),
        "threads": settings.threads,
        "warmup": settings.warmup,
        "repeats": settings.repeats,
    }


class DeviceMemoryError(InputError):
    """Error of a device with too little memory for the measurement."""


def too_large(name: str, device: torch.device) -> DeviceMemoryError:
    """Return the error that the device has too little memory for `name`."""
    return DeviceMemoryError(
        f"{name} needs more memory than {device_name(device)} has free",
        field="batch",
        expected="choose a smaller batch or input",
    )


@contextmanager
def _flushing(partial: PartialProfile[Spread]) -> Iterator[None]:
    """Write all measurements to the file, however the block ends."""
    try:
        yield
    finally:
        partial.flush()
