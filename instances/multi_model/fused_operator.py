"""Operator that is horizontally fused over several models of the same architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import checked_name
from jettison.instances.core.units import checked_amount


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedOperator:
    """Operator with its duration and memory for each number of models that may be fused.

    Memory is that of the pass, forward or backward, to which the operator belongs. It counts
    neither what is resident all the time, weights and their gradients, nor feature maps that are
    idle: between their last use in the forward pass and their first use in the backward pass.

    Attributes
    ----------
    name
        Unique within the instance.
    run_ns
        Its duration; one entry for each size, as `MultiModel.sizes` lists them.
    peak_bytes
        Memory of the pass while it runs: what it reads, writes and needs beside that, and what
        later operators of the pass wait for.
    active_bytes
        Memory of the pass from its end until the next operator of the pass starts.

    Raises
    ------
    InputError
        If an amount is not a non-negative integer, or more is left than was there.
    """

    name: str
    run_ns: tuple[int, ...]
    peak_bytes: tuple[int, ...]
    active_bytes: tuple[int, ...]

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_column(self.run_ns, "run_ns", "nanoseconds")
        checked_column(self.peak_bytes, "peak_bytes", "bytes")
        checked_column(self.active_bytes, "active_bytes", "bytes")
        for place, (active, peak) in enumerate(
            zip(self.active_bytes, self.peak_bytes, strict=False)
        ):
            if active > peak:
                raise InputError(
                    f"{active} bytes are left of {peak}",
                    field=f"active_bytes[{place}]",
                    expected="write at most the peak_bytes of the same place",
                )

    def to_json(self) -> dict[str, object]:
        """Return the operator as a JSON object."""
        return {
            "name": self.name,
            "run_ns": list(self.run_ns),
            "peak_bytes": list(self.peak_bytes),
            "active_bytes": list(self.active_bytes),
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> FusedOperator:
        """Build the operator from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            As the constructor.
        """
        return cls(
            name=entry["name"],
            run_ns=tuple(entry["run_ns"]),
            peak_bytes=tuple(entry["peak_bytes"]),
            active_bytes=tuple(entry["active_bytes"]),
        )


def checked_column(column: tuple[int, ...], field: str, unit: str) -> None:
    """Check the amounts of one field, one for each size of sub-array.

    Raises
    ------
    InputError
        If one is not a non-negative integer.
    """
    for place, amount in enumerate(column):
        checked_amount(amount, f"{field}[{place}]", unit)
