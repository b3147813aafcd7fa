"""Claim of a schedule file: the resources that the schedule was made for, its time and its peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, SharedTotal


class TransferTimes(StrEnum):
    """Source of the times of transfers."""

    LINK = "link"
    """They follow from sizes and the bandwidth of the link."""

    PROFILE = "profile"
    """The instance has measured ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleClaim:
    """Claim about a schedule: its time and peak in the resources that it was made for.

    Attributes
    ----------
    memory_bytes
        The memory limit.
    time_ns, peak_bytes
        Time and peak of the replay.
    link
        The link; None if transfers take no time.
    transfer_times
        Source of the times of transfers; None for problems that have only one.
    models
        Number of models that are trained; None for problems of one model.
    devices, microbatches, weight_copies, chunks
        Those of a pipeline; None elsewhere, and one chunk is not written.
    """

    memory_bytes: int
    time_ns: int
    peak_bytes: int
    link: Link | None = None
    transfer_times: TransferTimes | None = None
    models: int | None = None
    devices: int | None = None
    microbatches: int | None = None
    weight_copies: int | None = None
    chunks: int | None = None

    def to_json(self) -> dict[str, object]:
        """Return the claim as a JSON object; a full-duplex link has twice its rate in total."""
        found: dict[str, object] = {"memory_bytes": self.memory_bytes}
        if self.link is not None:
            found["link"] = {
                "bytes_per_s": self.link.bytes_per_s,
                "total_bytes_per_s": self.link.total_bytes_per_s,
            }
        if self.transfer_times is not None:
            found["transfer_times"] = self.transfer_times.value
        for key in _COUNTS:
            if getattr(self, key) is not None:
                found[key] = getattr(self, key)
        return {**found, "time_ns": self.time_ns, "peak_bytes": self.peak_bytes}

    @classmethod
    def of_file(cls, document: Mapping[str, Any]) -> ScheduleClaim | None:
        """Return the claim of a schedule file that has passed its schema; None without one.

        Raises
        ------
        InputError
            If the rates of the link do not go together.
        """
        if "claim" not in document:
            return None
        entry = document["claim"]
        source = entry.get("transfer_times")
        return cls(
            memory_bytes=entry["memory_bytes"],
            link=_read_link(entry["link"]) if "link" in entry else None,
            transfer_times=None if source is None else TransferTimes(source),
            time_ns=entry["time_ns"],
            peak_bytes=entry["peak_bytes"],
            **{key: entry.get(key) for key in _COUNTS},
        )


_COUNTS = ("models", "devices", "microbatches", "weight_copies", "chunks")


def _read_link(entry: Mapping[str, int]) -> Link:
    rate, total = (entry[key] for key in ("bytes_per_s", "total_bytes_per_s"))
    try:
        return Link(rate) if total == 2 * rate else Link(rate, SharedTotal(total))
    except InputError as error:
        raise error.within(prefix="claim.link") from None
