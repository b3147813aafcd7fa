"""What every schedule can do, whatever it is a schedule of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from jettison.schedules.core.replay import Replay


@runtime_checkable
class Schedule(Protocol):
    """What is done when: immutable, and kept in a JSON file."""

    @property
    def kind(self) -> str:
        """What files call schedules like it: ``"chain-schedule"``."""
        ...

    @property
    def replay(self) -> Callable[..., Replay]:
        """Go through it in exact integers; what this takes is up to the kind."""
        ...
