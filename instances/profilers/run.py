"""One run of a profiler: the model on its device, what the run is called, what it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import torch

from jettison.instances.chain import Chain
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph
from jettison.instances.multi_model import MultiModel
from jettison.instances.profilers.device_name import (
    device_name,
    library_versions,
    short_device_name,
)
from jettison.instances.profilers.operator_cost import Measured, OperatorCost, Roofline
from jettison.instances.profilers.partial_profile import PartialProfile
from jettison.instances.profilers.target import code_sha256
from jettison.instances.profilers.torch_chain import profile_chain
from jettison.instances.profilers.torch_graph import profile_graph
from jettison.instances.profilers.torch_multi_model import profile_multi_model
from jettison.instances.provenance import Scalar
from jettison.instances.zoo.workload import Workload


class ProfileRun:
    """A model that is ready to be measured.

    Parameters
    ----------
    target
        What the user asked for.
    workload
        What it stands for; it is moved to the device.
    device
        ``cpu`` or ``cuda``, which is the first GPU.
    warmup, repeats
        Runs of each operation before, and for, the measurement.
    threads
        Of PyTorch on the CPU, for the whole process.

    Attributes
    ----------
    name
        Target, batch, input and device: the name of the instance.

    Raises
    ------
    InputError
        If there is no such device, the model does not fit its memory, or `warmup` or `repeats`
        is out of range.
    """

    def __init__(
        self,
        target: str,
        workload: Workload,
        device: str,
        warmup: int,
        repeats: int,
        threads: int,
    ) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            raise InputError(
                "PyTorch sees no GPU here",
                field="device",
                expected="write cpu, or install a PyTorch that fits the driver",
            )
        if repeats < 1 or warmup < 0:
            raise InputError(
                f"warmup={warmup} and repeats={repeats}",
                field="repeats",
                expected="repeat at least once, after 0 or more runs of warm-up",
            )
        torch.set_num_threads(threads)
        self._device = torch.device("cuda", 0) if device == "cuda" else torch.device("cpu")
        self._target = target
        self._warmup = warmup
        self._repeats = repeats
        self._threads = threads
        samples, *extents = workload.sample_input.shape
        sizes = "x".join(map(str, extents)) or "1"
        self._stem = f"{target.replace(':', '-')}-b{samples}-{sizes}"
        short = short_device_name(device_name(self._device), device)
        self.name = f"{self._stem}-{short}"
        try:
            self._workload = workload.to(self._device)
        except torch.OutOfMemoryError:
            raise self._too_large() from None

    def partial(self, path: Path, announce: Callable[[int, int, str], None]) -> PartialProfile:
        """Return what an earlier run like this one has left in a file.

        Raises
        ------
        InputError
            If the file is something else.
        """
        return PartialProfile(path, self._key(), announce)

    def chain(self, log: PartialProfile) -> Chain:
        """Measure the stages that the log does not know.

        Raises
        ------
        InputError
            If the model is no chain, or a stage does not fit the memory of the device.
        """
        try:
            return profile_chain(
                self._workload.model,
                self._workload.sample_input,
                name=self.name,
                model_name=self._workload.model_name,
                model_arguments=self._workload.model_arguments,
                loss=self._workload.loss,
                warmup=self._warmup,
                repeats=self._repeats,
                log=log,
            )
        except torch.OutOfMemoryError:
            raise self._too_large() from None

    def graph(self, costs: str, announce: Callable[[str], None]) -> Graph:
        """Trace the step; `costs` is ``measured`` or ``roofline``.

        Raises
        ------
        InputError
            If the step cannot be traced, or an operation does not fit the memory of the device.
        """
        try:
            return profile_graph(
                self._workload.model,
                self._workload.sample_input,
                name=self._traced_name(costs),
                model_name=self._workload.model_name,
                model_arguments=self._workload.model_arguments,
                loss=self._workload.loss,
                cost=self._cost(costs, announce),
            )
        except torch.OutOfMemoryError:
            raise self._too_large() from None

    def multi_model(
        self, costs: str, announce: Callable[[str], None], *, models: int, bandwidth: int
    ) -> MultiModel:
        """Trace the fused steps of up to so many models.

        Raises
        ------
        InputError
            As `graph`, and if the step cannot be fused.
        """
        try:
            return profile_multi_model(
                self._workload.model,
                self._workload.sample_input,
                self._workload.loss,
                self._cost(costs, announce),
                models=models,
                bandwidth=bandwidth,
                name=f"{self._traced_name(costs)}-x{models}",
                model_name=self._workload.model_name,
                model_arguments=self._workload.model_arguments,
            )
        except torch.OutOfMemoryError:
            raise self._too_large() from None

    def _traced_name(self, costs: str) -> str:
        # What is not measured must not pass for a measurement of the device.
        return self.name if costs == "measured" else f"{self._stem}-{costs}"

    def _cost(self, costs: str, announce: Callable[[str], None]) -> OperatorCost:
        if costs == "roofline":
            return Roofline()
        return Measured(self._device, warmup=self._warmup, repeats=self._repeats, announce=announce)

    def _key(self) -> dict[str, Scalar]:
        sample = self._workload.sample_input
        state = [
            f"{name} {tuple(tensor.shape)} {tensor.dtype}"
            for name, tensor in self._workload.model.state_dict().items()
        ]
        architecture = "\n".join([repr(self._workload.model), repr(self._workload.loss), *state])
        return {
            "target": self._target,
            **{f"set {name}": value for name, value in self._workload.model_arguments.items()},
            "batch and input": "x".join(str(extent) for extent in sample.shape),
            "dtype": str(sample.dtype),
            "architecture": hashlib.sha256(architecture.encode()).hexdigest(),
            "code": code_sha256(self._target),
            "device": device_name(self._device),
            **{
                f"version of {name}": version
                for name, version in library_versions(self._device).items()
            },
            "version of jettison": metadata.version("jettison"),
            "threads": self._threads,
            "warmup": self._warmup,
            "repeats": self._repeats,
        }

    def _too_large(self) -> InputError:
        return InputError(
            f"{self.name} needs more memory than {device_name(self._device)} has free",
            field="batch",
            expected="choose a smaller batch or input",
        )
