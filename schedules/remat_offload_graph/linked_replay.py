"""Verdict of the replay of a graph schedule with transfers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.schedules.core.replay import Replay


@dataclass(frozen=True, kw_only=True)
class LinkedReplay(Replay):
    """Verdict of the replay of a graph schedule with transfers.

    Attributes
    ----------
    end_ns
        When the last computation has ended and every kept value is in memory: the time of the step.
        Copies to the host may be on their way yet.
    """

    end_ns: int

    @cached_property
    def time_ns(self) -> int:
        """Duration of the step."""
        return self.end_ns

    @property
    def recompute_ns(self) -> int:
        """Time of all computations that are not the first of their node."""
        return sum(step.end_ns - step.start_ns for step in self.steps if step.repeated)

    @property
    def stall_ns(self) -> int:
        """Time in which nothing is computed."""
        return self.end_ns - sum(step.end_ns - step.start_ns for step in self.steps)

    @property
    def idle_link_ns(self) -> tuple[int, int]:
        """Time of the step in which nothing goes to the host, and nothing comes from there."""
        to_host, from_host = (
            self.end_ns
            - sum(
                min(item.end_ns, self.end_ns) - min(item.start_ns, self.end_ns)
                for item in self.transfers
                if item.to_host is direction
            )
            for direction in (True, False)
        )
        return to_host, from_host
