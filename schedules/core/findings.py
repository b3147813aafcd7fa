"""Violations that a replay has found, in the order of the operations."""

from __future__ import annotations

import math
from operator import itemgetter

from jettison.schedules.core.replay import Rule, Violation


class Findings:
    """Collector of violations; `position` and `operation` say what is being replayed."""

    def __init__(self) -> None:
        self.position = 0
        self.operation = ""
        self._violations: list[tuple[float, Violation]] = []

    def at(self, position: int, operation: str) -> None:
        """Go on to an operation of the schedule."""
        self.position = position
        self.operation = operation

    def broken(self, rule: Rule, tensor: str, bytes_over: int = 0) -> None:
        """Record that the current operation breaks `rule` on `tensor`."""
        found = Violation(
            rule=rule,
            position=self.position,
            operation=self.operation,
            tensor=tensor,
            bytes_over=bytes_over,
        )
        self._violations.append((self.position, found))

    def broken_at_start(self, tensor: str, bytes_over: int) -> None:
        """Record that the memory in use before the first operation exceeds the limit."""
        found = Violation(
            rule=Rule.OUT_OF_MEMORY,
            position=None,
            operation="start",
            tensor=tensor,
            bytes_over=bytes_over,
        )
        self._violations.append((-1, found))

    def broken_at_time(self, time: int, bytes_over: int) -> None:
        """Record that the values that are live at a time of the instance exceed the limit."""
        found = Violation(
            rule=Rule.OUT_OF_MEMORY,
            position=None,
            operation=f"time {time}",
            tensor="what is live",
            bytes_over=bytes_over,
        )
        self._violations.append((math.inf, found))

    def broken_at_end(self, rule: Rule, tensor: str) -> None:
        """Record that the schedule as a whole breaks `rule` on `tensor`."""
        found = Violation(rule=rule, position=None, operation="end", tensor=tensor)
        self._violations.append((math.inf, found))

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violations, in the order of the operations."""
        return tuple(found for _, found in sorted(self._violations, key=itemgetter(0)))
