"""What a device takes for its share of an operation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from jettison.instances.tensor_programs.device_mesh import DeviceMesh
from jettison.instances.tensor_programs.tensor_program import TensorOperation

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWork:
    """The share of one device.

    Attributes
    ----------
    operation
        Of which it is a share.
    shape, operand_shapes
        Of the parts of the result and of the operands.
    element_bytes
        Of one number of each operand.
    flops
        Arithmetic operations of this device.
    moved_bytes
        What it reads and writes.
    """

    operation: TensorOperation
    shape: Shape
    operand_shapes: tuple[Shape, ...]
    element_bytes: tuple[int, ...]
    flops: Fraction
    moved_bytes: int


class ShardCost(Protocol):
    """A way to know durations."""

    def compute_ns(self, work: LocalWork) -> int:
        """Return the time of one device, without communication."""


@dataclass(frozen=True, slots=True)
class RatedShards:
    """Durations from the rates of a mesh."""

    mesh: DeviceMesh

    def compute_ns(self, work: LocalWork) -> int:
        """Return what the rates say; see `device_mesh`."""
        return self.mesh.compute_ns(work.flops, work.moved_bytes)
