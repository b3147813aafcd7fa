"""Exports of the measured data set: what is run for an instance, and how its file is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jettison.instances.catalog import Instance, save
from jettison.instances.core.json_file import write_json
from jettison.instances.core.link import Link
from jettison.instances.profilers.profile_run import ProfileRun
from jettison.instances.profilers.settings import ProfileSettings
from jettison.instances.profilers.shards.sharding_run import ShardingRun
from jettison.instances.profilers.torch_chains.partial_profile import PartialProfile
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.program_on_mesh import ProgramOnMesh
from jettison.instances.zoo.catalogue import build

Say = Callable[[str], None]

# Of each direction to the host, for several models that share a device: PCIe 4.
_HOST_LINK = Link(25_000_000_000)


class Export(Protocol):
    """Instance of the measured data set."""

    def name(self, device: str) -> str:
        """Return its name; `device` is the short name of one."""

    def write(self, path: Path, settings: ProfileSettings, say: Say) -> Instance:
        """Measure it, beginning with what `unfinished(path)` holds, and write its file.

        Raises
        ------
        InputError
            If there is no such model, or the device has too little memory.
        """


def unfinished(path: Path) -> Path:
    """Return where the measurements stand that a file is to be made of."""
    return path.with_name(f"{path.name}.partial")


@dataclass(frozen=True, slots=True)
class _ModelExport:
    """A model of the zoo: `input_size` is a side in pixels or a length in tokens.

    `label` tells the arguments of the model apart.
    """

    model: str
    batch: int
    input_size: int
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    def _run(self, settings: ProfileSettings) -> ProfileRun:
        workload = build(self.model, batch=self.batch, input_size=self.input_size, **self.arguments)
        return ProfileRun(self.model, workload, settings)


@dataclass(frozen=True, slots=True)
class ChainExport(_ModelExport):
    """The stages of a model."""

    def name(self, device: str) -> str:
        """Return model, batch, input and device."""
        return f"{self.model}{self.label}-b{self.batch}-{self.input_size}-{device}"

    def write(self, path: Path, settings: ProfileSettings, say: Say) -> Instance:
        """Measure the stages that are missing."""
        run = self._run(settings)
        partial = run.stages(unfinished(path))

        def announce(number: int, count: int, stage: str) -> None:
            say(f"stage {number} of {count}, {stage}")

        return _kept(run.chain(partial, announce, path.stem), path, partial)


@dataclass(frozen=True, slots=True)
class GraphExport(_ModelExport):
    """All operations of a model's training step."""

    def name(self, device: str) -> str:
        """Return model, batch, input and device."""
        return f"{self.model}{self.label}-graph-b{self.batch}-{self.input_size}-{device}"

    def write(self, path: Path, settings: ProfileSettings, say: Say) -> Instance:
        """Measure the operations that are missing."""
        run = self._run(settings)
        partial = run.operations(unfinished(path), "graph")
        return _kept(run.graph("measured", partial, say, path.stem), path, partial)


@dataclass(frozen=True, slots=True)
class FusedExport(_ModelExport):
    """Up to `models` models of one architecture, fused."""

    models: int = 8

    def name(self, device: str) -> str:
        """Return model, number, batch, input and device."""
        return f"{self.model}{self.label}-x{self.models}-b{self.batch}-{self.input_size}-{device}"

    def write(self, path: Path, settings: ProfileSettings, say: Say) -> Instance:
        """Measure the operations that are missing, for every number of models."""
        run = self._run(settings)
        partial = run.operations(unfinished(path), "multi-model")
        found = run.multi_model(
            "measured",
            partial,
            say,
            path.stem,
            models=self.models,
            bandwidth=_HOST_LINK.bytes_per_s,
        )
        return _kept(found, path, partial)


@dataclass(frozen=True, slots=True)
class ShardingExport:
    """The strategies of a tensor program on a mesh, without its fastest plan.

    ``python -m tools.export_sharded --only fastest`` adds that.
    """

    program: str
    mesh: tuple[int, ...]
    slowdown: int = 1

    def name(self, device: str) -> str:
        """Return program, mesh and device."""
        slow = f"-slow{self.slowdown}" if self.slowdown > 1 else ""
        return f"{self.program}-mesh{'x'.join(map(str, self.mesh))}{slow}-{device}"

    def write(self, path: Path, settings: ProfileSettings, say: Say) -> Instance:
        """Measure the shares that are missing."""
        run = ShardingRun(named_program(self.program), self.mesh, self.slowdown, settings)
        partial = run.operations(unfinished(path))
        graph = run.graph(partial, say)
        # All strategies together are large; program, mesh and measured shares make them again.
        kept = ProgramOnMesh(
            name=path.stem,
            program=self.program,
            mesh=self.mesh,
            slowdown=self.slowdown,
            provenance=graph.provenance,
        )
        write_json(kept.to_json(), path)
        partial.discard()
        return graph


def _kept(instance: Instance, path: Path, partial: PartialProfile[Any]) -> Instance:
    save(instance, path)
    partial.discard()
    return instance
