"""Profiling run of a sharded training step: all strategies, measured on one device.

A strategy gives every device of the mesh an equal share of each operation. So one device is enough:
it runs the shares that the strategies have, each by itself, on tensors of their shapes. Collectives
and resharding come from the link model of `device_mesh`, whose rates the provenance states.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median_low

import torch

from jettison.instances.profilers.device.device_name import device_name, library_versions
from jettison.instances.profilers.device.processor_name import short_device_name
from jettison.instances.profilers.device.timing import duration_ns
from jettison.instances.profilers.profile_run import PATIENCE_S, device_key, device_of, too_large
from jettison.instances.profilers.settings import ProfileSettings
from jettison.instances.profilers.shards.shard_kernels import kernel_of
from jettison.instances.profilers.torch_chains.partial_profile import PartialProfile
from jettison.instances.profilers.torch_graphs.operation_log import OPERATIONS, OperationLog, Spread
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.tensor_programs.device_mesh import v100_mesh
from jettison.instances.tensor_programs.shard_cost import LocalWork, share_name
from jettison.instances.tensor_programs.shard_program import shard_program
from jettison.instances.tensor_programs.tensor_program import TensorProgram


class MeasuredShards:
    """Cost that measures each share by itself; equal shares run once.

    Parameters
    ----------
    device
        Device to run on; a GPU must be the current one.
    settings
        Runs of each operation before, and for, the measurement.
    known
        Earlier measurements, to which new ones are added.
    announce
        Called with the name of each operation before it runs.
    """

    def __init__(
        self,
        device: torch.device,
        settings: ProfileSettings,
        known: OperationLog,
        announce: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._device = device
        self._settings = settings
        self._announce = announce
        self.known = known

    def compute_ns(self, work: LocalWork) -> int:
        """Return the median duration of the runs of a share."""
        key = share_name(work)
        if key not in self.known:
            self._announce(work.operation.name)
            kernel = kernel_of(work, self._device)
            with torch.no_grad():
                runs = self._settings.warmup + self._settings.repeats
                found = [duration_ns(kernel, self._device) for _ in range(runs)]
            counted = found[self._settings.warmup :]
            self.known[key] = (min(counted), median_low(counted), max(counted))
        return self.known[key][1]


class ShardingRun:
    """Profiling run of a tensor program on a mesh.

    Parameters
    ----------
    program
        The step.
    mesh, slowdown
        As of `v100_mesh`, from which the links are taken.
    settings
        Where and how often operations run.

    Attributes
    ----------
    name
        Program, mesh and device: the name of the instance.

    Raises
    ------
    InputError
        If there is no such device, or the mesh or the slowdown is out of range.
    """

    def __init__(
        self,
        program: TensorProgram,
        mesh: tuple[int, ...],
        slowdown: int,
        settings: ProfileSettings,
    ) -> None:
        self._device = device_of(settings)
        self._program = program
        self._mesh = v100_mesh(mesh, slowdown)
        self._slowdown = slowdown
        self._settings = settings
        short = short_device_name(device_name(self._device), settings.device)
        slow = f"-slow{slowdown}" if slowdown > 1 else ""
        shape = "x".join(map(str, mesh))
        self.name = f"{program.name}-mesh{shape}{slow}-{short}"

    def operations(self, path: Path) -> PartialProfile[Spread]:
        """Return the shares that an earlier run like this one has left in a file.

        Raises
        ------
        InputError
            If the file is something else.
        """
        text = json.dumps(self._program.to_json(), sort_keys=True)
        key = {
            "kind": "sharding",
            "program": hashlib.sha256(text.encode()).hexdigest(),
            "mesh": "x".join(map(str, self._mesh.shape)),
            **device_key(self._device, self._settings),
        }
        return PartialProfile(path, key, OPERATIONS, patience_s=PATIENCE_S)

    def graph(
        self, partial: PartialProfile[Spread], announce: Callable[[str], None] = lambda name: None
    ) -> ShardedGraph:
        """Measure the shares that no earlier run has measured, and return the sharded graph.

        Raises
        ------
        InputError
            If a share does not fit the memory of the device.
        """
        cost = MeasuredShards(self._device, self._settings, OperationLog(partial), announce)
        with ExitStack() as after:
            after.callback(partial.flush)
            if self._device.type == "cuda":
                after.enter_context(torch.cuda.device(self._device))
            try:
                graph = shard_program(self._program, self._mesh, self.name, cost)
            except torch.OutOfMemoryError:
                raise too_large(self.name, self._device) from None
        links = "; ".join(
            f"{dimension.devices} devices, {dimension.link.bytes_per_s} bytes a second each, "
            f"{dimension.latency_ns} ns"
            for dimension in self._mesh.dimensions
        )
        provenance = replace(
            graph.provenance,
            source="torch-profile",
            device=device_name(self._device),
            device_kind=self._settings.device,
            date=datetime.now(UTC).date().isoformat(),
            exporter=f"jettison {metadata.version('jettison')}",
            libraries={**graph.provenance.libraries, **library_versions(self._device)},
            dtype=graph.provenance.dtype or "float32",
            warmup=self._settings.warmup,
            repeats=self._settings.repeats,
            spread=dict(cost.known),
            note="each share of an operation was run by itself on one device, as a kernel of the "
            f"same axes; communication is assumed: {links}",
        )
        return replace(graph, provenance=provenance)
