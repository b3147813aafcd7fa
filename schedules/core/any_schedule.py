"""Protocol of schedules: the attributes that all kinds of schedules have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from jettison.schedules.core.replay import Replay


@runtime_checkable
class Schedule(Protocol):
    """Protocol of a schedule: an immutable answer to a problem, with a JSON form."""

    @property
    def kind(self) -> str:
        """Kind of the schedule as it stands in files: ``"chain-schedule"``."""
        ...

    @property
    def replay(self) -> Callable[..., Replay]:
        """Execute the schedule in exact integers; the arguments depend on the kind."""
        ...
