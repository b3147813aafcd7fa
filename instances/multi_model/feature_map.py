"""Feature map: a tensor that the forward pass makes and the backward pass reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jettison.instances.core.names import checked_name
from jettison.instances.multi_model.fused_operator import checked_column


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMap:
    """Feature map with its size, uses and costs for each number of fused models (µ-TWO, Table B).

    Attributes
    ----------
    name
        Unique among the feature maps of the instance.
    size_bytes
        Its size; one entry for each size of sub-array, as `MultiModel.sizes` lists them.
    made_by, last_forward
        Names of the forward operators that make it and that read it last; they are the same one
        if nothing in the forward pass reads it.
    first_backward, last_backward
        Names of the backward operators that read it first and last.
    recompute_ns
        Time to compute it again from its sources.
    recompute_bytes
        Memory for that, beside its own and that of its sources.
    sources
        Names of the feature maps from which it is computed again; weights and the batch are always
        there.
    swap_ns
        Time to copy it to the host, or back; empty if it follows from the bandwidth.

    Raises
    ------
    InputError
        If an amount is not a non-negative integer, or a name cannot be one.
    """

    name: str
    size_bytes: tuple[int, ...]
    made_by: str
    last_forward: str
    first_backward: str
    last_backward: str
    recompute_ns: tuple[int, ...]
    recompute_bytes: tuple[int, ...]
    sources: tuple[str, ...] = ()
    swap_ns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_column(self.size_bytes, "size_bytes", "bytes")
        checked_column(self.recompute_ns, "recompute_ns", "nanoseconds")
        checked_column(self.recompute_bytes, "recompute_bytes", "bytes")
        checked_column(self.swap_ns, "swap_ns", "nanoseconds")

    def to_json(self) -> dict[str, object]:
        """Return the feature map as a JSON object, without fields that have their default."""
        document: dict[str, object] = {
            "name": self.name,
            "size_bytes": list(self.size_bytes),
            "made_by": self.made_by,
            "last_forward": self.last_forward,
            "first_backward": self.first_backward,
            "last_backward": self.last_backward,
            "recompute_ns": list(self.recompute_ns),
            "recompute_bytes": list(self.recompute_bytes),
        }
        if self.sources:
            document["sources"] = list(self.sources)
        if self.swap_ns:
            document["swap_ns"] = list(self.swap_ns)
        return document

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> FeatureMap:
        """Build the feature map from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            As the constructor.
        """
        return cls(
            name=entry["name"],
            size_bytes=tuple(entry["size_bytes"]),
            made_by=entry["made_by"],
            last_forward=entry["last_forward"],
            first_backward=entry["first_backward"],
            last_backward=entry["last_backward"],
            recompute_ns=tuple(entry["recompute_ns"]),
            recompute_bytes=tuple(entry["recompute_bytes"]),
            sources=tuple(entry.get("sources", [])),
            swap_ns=tuple(entry.get("swap_ns", [])),
        )
