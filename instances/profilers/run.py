"""One run of a profiler: the model on its device, what the run is called, what it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import torch

from jettison.instances.chain import Chain
from jettison.instances.errors import InputError
from jettison.instances.profilers.device_name import (
    device_name,
    library_versions,
    short_device_name,
)
from jettison.instances.profilers.partial_profile import PartialProfile
from jettison.instances.profilers.target import code_sha256
from jettison.instances.profilers.torch_chain import profile_chain
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
        If there is no such device, or the model does not fit its memory.
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
        torch.set_num_threads(threads)
        self._device = torch.device("cuda", 0) if device == "cuda" else torch.device("cpu")
        self._target = target
        self._warmup = warmup
        self._repeats = repeats
        self._threads = threads
        shape = tuple(workload.sample_input.shape)
        stem = target.replace(":", "-")
        short = short_device_name(device_name(self._device), device)
        self.name = f"{stem}-b{shape[0]}-{'x'.join(map(str, shape[1:])) or '1'}-{short}"
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
