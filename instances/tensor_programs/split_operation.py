r"""Splits of one operation over a mesh, as in GSPMD, with the cost of each on one device.

A split names for each dimension of the mesh an axis of the operation, or nothing: then its devices
do the same work. All else follows. An operand, and the result, is split along the dimension with
that axis, and copied where it has none. Where the axis is not in the result, every device has a
partial sum, and an all-reduce adds them up. For a matrix product ``mk,kn->mn`` on two mesh
dimensions that gives ``S0S1=S0RxRS1`` (axes m, n), ``S0R=S0S1xS1R`` (m, k, with an all-reduce),
``RS1=RS0xS0S1`` (k, n), both dimensions on one axis (``S01``), and those that leave dimensions of
the mesh out, up to ``RR=RRxRR``. A parameter or input has an axis for each dimension of its tensor.
The gradient of a weight contracts over the batch, so that data parallelism pays its all-reduce
there.

Partial sums are added up at once: a reduce-scatter that leaves the sum split is not offered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

from jettison.instances.remat_sharding.operator import Strategy
from jettison.instances.tensor_programs.device_mesh import DeviceMesh
from jettison.instances.tensor_programs.placement import Placement, parts, placement_name
from jettison.instances.tensor_programs.shard_cost import LocalWork, RatedShards, ShardCost
from jettison.instances.tensor_programs.tensor_program import TensorOperation

Split = tuple[str | None, ...]


@dataclass(frozen=True)
class SplitOperation:
    """Operation on a mesh, with all the ways to split it.

    Attributes
    ----------
    operation
        The whole operation.
    operand_shapes, operand_bytes
        Shape and bytes of each whole operand.
    mesh
        The devices.
    cost
        Source of the durations of shares; the rates of the mesh if it is not given.
    """

    operation: TensorOperation
    operand_shapes: tuple[tuple[int, ...], ...]
    operand_bytes: tuple[int, ...]
    mesh: DeviceMesh
    cost: ShardCost | None = None

    @cached_property
    def axes(self) -> dict[str, int]:
        """The axes of the operation, each with the size that a number of parts must divide."""
        return self.operation.axes(self.operand_shapes)

    def splits(self) -> tuple[Split, ...]:
        """Return every split into equal parts; the last one splits nothing.

        Only what divides is split, and no split uses a mesh dimension of one device. With
        :math:`a` axes there are at most :math:`(a + 1)^d` on :math:`d` dimensions.
        """
        choices = [
            [*self.axes, None] if dimension.devices > 1 else [None]
            for dimension in self.mesh.dimensions
        ]
        return tuple(split for split in product(*choices) if split == self.divisible(split))

    def divisible(self, split: Split) -> Split:
        """Return the split without the mesh dimensions that do not divide their axis evenly."""
        taken = dict.fromkeys(self.axes, 1)
        found: list[str | None] = []
        for axis, dimension in zip(split, self.mesh.dimensions, strict=True):
            if axis is None or self.axes[axis] % (taken[axis] * dimension.devices):
                found.append(None)
            else:
                taken[axis] *= dimension.devices
                found.append(axis)
        return tuple(found)

    def following(self, place: int, source: Placement) -> Split:
        """Return the split that reads operand `place` as `source` places it, where that divides."""
        axes = self.operation.operand_axes[place]
        return self.divisible(
            tuple(
                None if target is None or axes[target] not in self.axes else axes[target]
                for target in source
            )
        )

    def result(self, split: Split) -> Placement:
        """Return the placement of the result."""
        return _placement(self.operation.result_axes, split)

    def reads(self, split: Split) -> tuple[Placement, ...]:
        """Return the placement in which each operand is read."""
        return tuple(_placement(axes, split) for axes in self.operation.operand_axes)

    def strategies(self, splits: tuple[Split, ...]) -> tuple[Strategy, ...]:
        """Return the strategy of each split; its name has the placements, ``S0R=S0S1xS1R`` say.

        Where an operation follows another, two places may have the same split: the place tells
        their names apart.
        """
        found: dict[str, Strategy] = {}
        for place, split in enumerate(splits):
            name = self._name(split)
            unique = f"{name} #{place}" if name in found else name
            found[unique] = self._strategy(split, unique)
        return tuple(found.values())

    def _name(self, split: Split) -> str:
        result = placement_name(len(self.operation.shape), self.result(split))
        texts = [
            placement_name(len(axes), placement)
            for axes, placement in zip(self.operation.operand_axes, self.reads(split), strict=True)
        ]
        return f"{result}={'x'.join(texts)}" if texts else result

    def _strategy(self, split: Split, name: str) -> Strategy:
        operation = self.operation
        local_bytes = operation.size_bytes // parts(self.mesh, self.result(split))
        if operation.role.is_computed_once:
            # Weights and batches are there: they take memory and no time.
            return Strategy(name=name, compute_ns=0, memory_bytes=local_bytes)
        # A value that is read twice in one form is read once.
        forms = zip(operation.operands, self.operand_bytes, self.reads(split), strict=True)
        read_bytes = sum(size // parts(self.mesh, placement) for _, size, placement in set(forms))
        used = [
            (axis, dimension)
            for axis, dimension in zip(split, self.mesh.dimensions, strict=True)
            if axis is not None
        ]
        devices = math.prod(dimension.devices for _, dimension in used)
        work = LocalWork(
            operation=operation,
            shape=self._part(operation.shape, self.result(split)),
            operand_shapes=tuple(map(self._part, self.operand_shapes, self.reads(split))),
            element_bytes=tuple(
                size // math.prod(shape)
                for size, shape in zip(self.operand_bytes, self.operand_shapes, strict=True)
            ),
            flops=Fraction(operation.flops, devices),
            moved_bytes=read_bytes + local_bytes,
        )
        return Strategy(
            name=name,
            compute_ns=(self.cost or RatedShards(self.mesh)).compute_ns(work),
            communication_ns=sum(
                dimension.all_reduce_ns(local_bytes)
                for axis, dimension in used
                if axis not in operation.result_axes
            ),
            memory_bytes=local_bytes,
        )

    def _part(self, shape: tuple[int, ...], placement: Placement) -> tuple[int, ...]:
        """Return the shape of one device's part."""
        found = [*shape]
        for target, dimension in zip(placement, self.mesh.dimensions, strict=True):
            if target is not None:
                found[target] //= dimension.devices
        return tuple(found)


def _placement(axes: str, split: Split) -> Placement:
    return tuple(None if axis is None or axis not in axes else axes.index(axis) for axis in split)
