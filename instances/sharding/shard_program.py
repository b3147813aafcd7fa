r"""The sharded graph of a tensor program on a mesh.

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

from functools import cache

from jettison.instances.operator import Operator, Strategy
from jettison.instances.sharded_graph import Resharding, ShardedGraph, Table
from jettison.instances.sharding.device_mesh import DeviceMesh
from jettison.instances.sharding.placement import Placement, resharding_ns
from jettison.instances.sharding.split_operation import Split, SplitOperation
from jettison.instances.sharding.tensor_program import UNSPLIT, TensorOperation, TensorProgram

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


def shard_program(program: TensorProgram, mesh: DeviceMesh, name: str) -> ShardedGraph:
    """Return the operators of a program with all strategies on a mesh, and the resharding costs.

    Parameters
    ----------
    program
        The tensors of a training step.
    mesh
        The devices.
    name
        Of the graph; its provenance is the program's.

    Raises
    ------
    InputError
        If the costs are too large to add up.
    """
    followed = followed_operands(program)
    splits: dict[str, tuple[Split, ...]] = {}
    leader: dict[str, str] = {}
    on_mesh: dict[str, SplitOperation] = {}
    operators = []
    for operation in program.operations:
        here = SplitOperation(program, operation, mesh)
        on_mesh[operation.name] = here
        place = followed[operation.name]
        if place is None:
            leader[operation.name] = operation.name
            splits[operation.name] = here.splits()
        else:
            source = operation.operands[place]
            leader[operation.name] = leader[source]
            splits[operation.name] = tuple(
                here.following(place, on_mesh[source].result(split)) for split in splits[source]
            )
        operators.append(
            Operator(
                name=operation.name,
                role=operation.role,
                strategies=_strategies(here, splits[operation.name]),
                inputs=tuple(dict.fromkeys(operation.operands)),
                follows=None if place is None else operation.operands[place],
                keep=operation.keep,
                operation=operation.primitive,
                scope=operation.scope,
            )
        )

    @cache
    def cost_ns(size_bytes: int, before: Placement, after: Placement) -> int | None:
        return resharding_ns(mesh, size_bytes, before, after)

    def table(source: TensorOperation, target: TensorOperation) -> Table:
        together = leader[source.name] == leader[target.name]
        rows = []
        befores = [on_mesh[source.name].result(split) for split in splits[source.name]]
        forms = [
            {
                placement
                for operand, placement in zip(
                    target.operands, on_mesh[target.name].reads(split), strict=True
                )
                if operand == source.name
            }
            for split in splits[target.name]
        ]
        for row, before in enumerate(befores):
            costs: list[int | None] = []
            for column, afters in enumerate(forms):
                if together and row != column:
                    costs.append(None)
                    continue
                each = [cost_ns(source.size_bytes, before, after) for after in afters]
                known = [cost for cost in each if cost is not None]
                costs.append(sum(known) if len(known) == len(each) else None)
            rows.append(tuple(costs))
        return tuple(rows)

    resharding = []
    for target in program.operations:
        for source_name in dict.fromkeys(target.operands):
            found = table(program.named[source_name], target)
            together = leader[source_name] == leader[target.name]
            used = (
                [found[place][place] for place in range(len(found))]
                if together
                else [cost for row in found for cost in row]
            )
            if any(cost != 0 for cost in used):
                resharding.append(Resharding(source_name, target.name, found))
    return ShardedGraph(
        name, tuple(operators), tuple(resharding), mesh.shape, provenance=program.provenance
    )


def _strategies(here: SplitOperation, splits: tuple[Split, ...]) -> tuple[Strategy, ...]:
    # Where an operation follows, two places may be the same split; their names tell them apart.
    names: list[str] = []
    for place, split in enumerate(splits):
        name = here.name(split)
        names.append(f"{name} #{place}" if name in names else name)
    return tuple(here.strategy(split, name) for split, name in zip(splits, names, strict=True))
