"""Recipe of a bundled sharded graph: the names of its program and its mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jettison.instances.core.names import checked_name
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.tensor_programs.device_mesh import v100_mesh
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.shard_cost import KnownShards
from jettison.instances.tensor_programs.shard_program import shard_program
from jettison.instances.tensor_programs.tensor_program import TensorProgram


def on_v100_mesh(
    program: TensorProgram, mesh: tuple[int, ...], slowdown: int, name: str
) -> ShardedGraph:
    """Return the sharded graph of a program on a mesh of V100 cards, with assumed rates.

    Raises
    ------
    InputError
        If the mesh or the slowdown is out of range.
    """
    graph = shard_program(program, v100_mesh(mesh, slowdown), name)
    provenance = replace(
        program.provenance,
        device="V100, assumed rates",
        device_kind="cuda",
        note="14 TFLOP a second, 800 GB a second; links 130 GB a second in 10 us within a node, "
        f"3.5 GB a second in 30 us between nodes, bandwidths divided by {slowdown}",
    )
    return replace(graph, provenance=provenance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOnMesh:
    """Recipe of a sharded graph: program, mesh and slowdown, from which it is made again.

    Attributes
    ----------
    name
        Name of the graph.
    program
        Name of a tensor program, ``encoder-4l`` say.
    mesh
        Devices along each dimension of a mesh of V100 cards (`v100_mesh`).
    slowdown
        Divisor of the bandwidths between devices.
    fastest
        For each operator the strategy of a fastest plan without a limit on memory; empty if it is
        not known.
    provenance
        Where the shares of operations were measured, with the spread of each by its `share_name`;
        None if durations come from assumed rates.
    """

    kind = "program-on-mesh"

    name: str
    program: str
    mesh: tuple[int, ...]
    slowdown: int = 1
    fastest: tuple[int, ...] = ()
    provenance: Provenance | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_name(self.program, "program")

    def sharded_graph(self) -> ShardedGraph:
        """Return the graph.

        Raises
        ------
        InputError
            If there is no such program, the mesh or the slowdown is out of range, `fastest` is no
            choice that is allowed, or a share was not measured.
        """
        program = named_program(self.program)
        if self.provenance is None:
            graph = on_v100_mesh(program, self.mesh, self.slowdown, self.name)
        else:
            cost = KnownShards(self.provenance.spread)
            graph = shard_program(program, v100_mesh(self.mesh, self.slowdown), self.name, cost)
            graph = replace(graph, provenance=self.provenance)
        return replace(graph, fastest=self.fastest)

    def to_json(self) -> dict[str, object]:
        """Return the recipe as a JSON object of the published schema."""
        document: dict[str, object] = {
            "format": "jettison",
            "kind": self.kind,
            "version": 1,
            "name": self.name,
            "program": self.program,
            "mesh": list(self.mesh),
            "slowdown": self.slowdown,
            "fastest": list(self.fastest),
        }
        if self.provenance is not None:
            document["provenance"] = self.provenance.to_json()
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ProgramOnMesh:
        """Build the recipe from parsed JSON that has passed the schema."""
        return cls(
            name=document["name"],
            program=document["program"],
            mesh=tuple(document["mesh"]),
            slowdown=document.get("slowdown", 1),
            fastest=tuple(document.get("fastest", [])),
            provenance=Provenance.from_json(document["provenance"])
            if "provenance" in document
            else None,
        )
