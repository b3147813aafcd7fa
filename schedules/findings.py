"""The rules that a schedule was found to break, in the order in which they were met."""

from __future__ import annotations

from jettison.schedules.replay import Rule, Violation


class Findings:
    """Collects violations; `position` and `operation` say what is being replayed."""

    def __init__(self) -> None:
        self.position = 0
        self.operation = ""
        self._violations: list[Violation] = []

    def at(self, position: int, operation: str) -> None:
        """Go on to an operation of the schedule."""
        self.position = position
        self.operation = operation

    def broken(self, rule: Rule, tensor: str, bytes_over: int = 0) -> None:
        """Record that the current operation breaks `rule` on `tensor`."""
        self._add(rule, self.position, self.operation, tensor, bytes_over)

    def broken_at_start(self, tensor: str, bytes_over: int) -> None:
        """Record that what is there before the first operation does not fit."""
        self._add(Rule.OUT_OF_MEMORY, None, "start", tensor, bytes_over)

    def broken_at_end(self, rule: Rule, tensor: str) -> None:
        """Record that the schedule as a whole breaks `rule` on `tensor`."""
        self._add(rule, None, "end", tensor, 0)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What was found."""
        return tuple(self._violations)

    def _add(
        self, rule: Rule, position: int | None, operation: str, tensor: str, bytes_over: int
    ) -> None:
        self._violations.append(
            Violation(
                rule=rule,
                position=position,
                operation=operation,
                tensor=tensor,
                bytes_over=bytes_over,
            )
        )
