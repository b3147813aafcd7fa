"""Time of one device for its share of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from jettison.instances.core.errors import InputError
from jettison.instances.tensor_programs.device_mesh import DeviceMesh
from jettison.instances.tensor_programs.tensor_program import TensorOperation

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWork:
    """Share of an operation that one device computes.

    Attributes
    ----------
    operation
        The whole operation.
    shape, operand_shapes
        Shapes of the device's parts of the result and of the operands.
    element_bytes
        Bytes of one number of each operand.
    flops
        Arithmetic operations of this device.
    moved_bytes
        Bytes that the device reads and writes.
    """

    operation: TensorOperation
    shape: Shape
    operand_shapes: tuple[Shape, ...]
    element_bytes: tuple[int, ...]
    flops: Fraction
    moved_bytes: int


class ShardCost(Protocol):
    """Source of the durations of shares."""

    def compute_ns(self, work: LocalWork) -> int:
        """Return the time of one device, without communication."""


@dataclass(frozen=True, slots=True)
class RatedShards:
    """Durations from the rates of a mesh."""

    mesh: DeviceMesh

    def compute_ns(self, work: LocalWork) -> int:
        """Return the time by the rates of the mesh; see `device_mesh`."""
        return self.mesh.compute_ns(work.flops, work.moved_bytes)


@dataclass(frozen=True, slots=True)
class KnownShards:
    """Durations that were measured before: the medians of a spread, by `share_name`."""

    spread: Mapping[str, tuple[int, int, int]]

    def compute_ns(self, work: LocalWork) -> int:
        """Return the median.

        Raises
        ------
        InputError
            If the share is not known.
        """
        name = share_name(work)
        if name not in self.spread:
            raise InputError(
                f"{name!r} is missing", field="provenance.spread", expected="measure it as well"
            )
        return self.spread[name][1]


def share_name(work: LocalWork) -> str:
    """Return the key of a measurement: all that the time of a share depends on, as a text."""
    shapes = ",".join("x".join(map(str, shape)) for shape in (*work.operand_shapes, work.shape))
    sizes = ",".join(map(str, work.element_bytes))
    return (
        f"{work.operation.primitive} {work.operation.subscripts} of {shapes}, "
        f"{sizes or 0} bytes each"
    )
