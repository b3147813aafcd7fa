r"""Sharding of a tensor program on a mesh: from the program to a sharded graph.

Products, convolutions, parameters and inputs choose how they are split. Every other operation
follows one operand: its strategy at a place of the list reads that operand where the strategy at
the same place leaves it, as far as the devices divide its axes. It is the deepest of the operands
with the most axes, where the depth is the number of operations on the longest way from a parameter
or an input (Alpa's rule, which the paper builds on); an operand that is broadcast has fewer axes.

A value is brought into each form in which an operation reads it, once: an operation that reads a
value twice in one form pays for it once, in two forms for both. A table between operators that have
one choice together holds the pairs of the same place only; a table of zeros is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.instances.remat_sharding.operator import Operator, Strategy
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph, Table
from jettison.instances.tensor_programs.device_mesh import DeviceMesh
from jettison.instances.tensor_programs.placement import Placement, resharding_ns
from jettison.instances.tensor_programs.shard_cost import ShardCost
from jettison.instances.tensor_programs.split_operation import SplitOperation
from jettison.instances.tensor_programs.tensor_program import (
    UNSPLIT,
    TensorOperation,
    TensorProgram,
)

CHOOSING = frozenset({"dot_general", "conv_general_dilated"})
"""Primitives that choose how they are split."""


def followed_operands(program: TensorProgram) -> dict[str, int | None]:
    """Return for each operation the place of the operand that it follows, or None if it chooses."""
    depth: dict[str, int] = {}
    found: dict[str, int | None] = {}
    for operation in program.operations:
        depth[operation.name] = max((depth[name] + 1 for name in operation.operands), default=0)
        most = max((_axes(axes) for axes in operation.operand_axes), default=0)
        if operation.primitive in CHOOSING or not most:
            found[operation.name] = None
            continue
        largest = [
            place for place, axes in enumerate(operation.operand_axes) if _axes(axes) == most
        ]
        found[operation.name] = max(
            largest, key=lambda place: (depth[operation.operands[place]], -place)
        )
    return found


def _axes(axes: str) -> int:
    return len(axes) - axes.count(UNSPLIT)


def shard_program(
    program: TensorProgram, mesh: DeviceMesh, name: str, cost: ShardCost | None = None
) -> ShardedGraph:
    """Return the operators of a program with all strategies on a mesh, and the resharding costs.

    Parameters
    ----------
    program
        The tensors of a training step.
    mesh
        The devices.
    name
        Name of the graph, which has the provenance of the program.
    cost
        Source of the durations of shares; the rates of the mesh if it is not given.

    Raises
    ------
    InputError
        If the costs are too large to add up.
    """
    followed = followed_operands(program)
    sharding = _Sharding(program, mesh, cost)
    operators = [
        sharding.operator(operation, followed[operation.name]) for operation in program.operations
    ]
    tables = [
        Resharding(source, target.name, table)
        for target in program.operations
        for source in dict.fromkeys(target.operands)
        if (table := sharding.resharding(program.named[source], target)) is not None
    ]
    return ShardedGraph(
        name, tuple(operators), tuple(tables), mesh.shape, provenance=program.provenance
    )


@dataclass(frozen=True, slots=True)
class _Splits:
    """Splits of one operation, one for each of its strategies."""

    strategies: tuple[Strategy, ...]
    results: tuple[Placement, ...]
    reads: tuple[tuple[Placement, ...], ...]


@dataclass(frozen=True)
class _Sharding:
    """Builder of a sharded graph, which makes what the layers of a model repeat only once."""

    program: TensorProgram
    mesh: DeviceMesh
    cost: ShardCost | None
    splits: dict[str, _Splits] = field(default_factory=dict)
    leader: dict[str, str] = field(default_factory=dict)
    made: dict[object, _Splits] = field(default_factory=dict)
    tables: dict[object, Table] = field(default_factory=dict)

    def operator(self, operation: TensorOperation, place: int | None) -> Operator:
        """Return the operator, which follows the operand at `place` or, if None, has a choice."""
        read = [self.program.named[name] for name in operation.operands]
        source = None if place is None else operation.operands[place]
        key = (
            operation.role.is_computed_once,
            operation.primitive,
            operation.subscripts,
            operation.shape,
            operation.element_bytes,
            operation.flops,
            tuple(operation.operands.index(name) for name in operation.operands),
            tuple((item.shape, item.size_bytes) for item in read),
            place,
            None if source is None else self.splits[source].results,
        )
        if key not in self.made:
            here = SplitOperation(
                operation,
                tuple(item.shape for item in read),
                tuple(item.size_bytes for item in read),
                self.mesh,
                self.cost,
            )
            places = (
                here.splits()
                if place is None or source is None
                else tuple(here.following(place, result) for result in self.splits[source].results)
            )
            self.made[key] = _Splits(
                here.strategies(places),
                tuple(map(here.result, places)),
                tuple(map(here.reads, places)),
            )
        self.splits[operation.name] = self.made[key]
        self.leader[operation.name] = operation.name if source is None else self.leader[source]
        return Operator(
            name=operation.name,
            role=operation.role,
            strategies=self.made[key].strategies,
            inputs=tuple(dict.fromkeys(operation.operands)),
            follows=source,
            keep=operation.keep,
            operation=operation.primitive,
            scope=operation.scope,
        )

    def resharding(self, source: TensorOperation, target: TensorOperation) -> Table | None:
        """Return the resharding table of an operation and its reader; None if it is all zeros."""
        befores = self.splits[source.name].results
        forms = tuple(
            frozenset(
                placement
                for operand, placement in zip(target.operands, placements, strict=True)
                if operand == source.name
            )
            for placements in self.splits[target.name].reads
        )
        together = self.leader[source.name] == self.leader[target.name]
        key = (source.size_bytes, befores, forms, together)
        if key not in self.tables:
            self.tables[key] = tuple(
                tuple(
                    None
                    if together and row != column
                    else self.cost_ns(source.size_bytes, before, afters)
                    for column, afters in enumerate(forms)
                )
                for row, before in enumerate(befores)
            )
        table = self.tables[key]
        free = all(
            cost == 0
            for row, costs in enumerate(table)
            for cost in ([costs[row]] if together else costs)
        )
        return None if free else table

    def cost_ns(
        self, size_bytes: int, before: Placement, afters: frozenset[Placement]
    ) -> int | None:
        """Return the time of resharding a value to all these placements; None if forbidden."""
        total_ns = 0
        for after in afters:
            cost = resharding_ns(self.mesh, size_bytes, before, after)
            if cost is None:
                return None
            total_ns += cost
        return total_ns
