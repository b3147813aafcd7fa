"""Row of a table of marks: a case, what was found, and whether its mark is held."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """Row of the table of marks.

    Attributes
    ----------
    instance, method
        The case.
    time_ns, bound_ns
        What was found; None where nothing was.
    cpu_s
        CPU seconds, of children as well; None where the case was left out.
    mark
        The mark in words.
    is_held
        Whether it is held; None where the case was left out.
    best_known
        What was published elsewhere, in words.
    note
        Why it was left out, or what was found beside it.
    """

    instance: str
    method: str
    time_ns: int | None = None
    bound_ns: int | None = None
    cpu_s: float | None = None
    mark: str
    is_held: bool | None
    best_known: str = ""
    note: str = ""

    @property
    def gap_percent(self) -> float | None:
        """By how much the time is above the bound, in per cent of the bound."""
        if self.time_ns is None or not self.bound_ns:
            return None
        return 100 * (self.time_ns / self.bound_ns - 1)
