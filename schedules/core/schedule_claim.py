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
    link
        The link.
    transfer_times
        Source of the times of transfers.
    models
        Number of models that are trained.
    time_ns, peak_bytes
        Time and peak of the replay.
    """

    memory_bytes: int
    link: Link
    transfer_times: TransferTimes
    models: int
    time_ns: int
    peak_bytes: int

    def to_json(self) -> dict[str, object]:
        """Return the claim as a JSON object; a full-duplex link has twice its rate in total."""
        return {
            "memory_bytes": self.memory_bytes,
            "link": {
                "bytes_per_s": self.link.bytes_per_s,
                "total_bytes_per_s": self.link.total_bytes_per_s,
            },
            "transfer_times": self.transfer_times.value,
            "models": self.models,
            "time_ns": self.time_ns,
            "peak_bytes": self.peak_bytes,
        }

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
        rate, total = (entry["link"][key] for key in ("bytes_per_s", "total_bytes_per_s"))
        try:
            link = Link(rate) if total == 2 * rate else Link(rate, SharedTotal(total))
        except InputError as error:
            raise error.within(prefix="claim.link") from None
        return cls(
            memory_bytes=entry["memory_bytes"],
            link=link,
            transfer_times=TransferTimes(entry["transfer_times"]),
            models=entry["models"],
            time_ns=entry["time_ns"],
            peak_bytes=entry["peak_bytes"],
        )
