"""Job of the table of marks: a mark that can be measured, with a name to choose it by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.marks.row import Row


@dataclass(frozen=True, kw_only=True)
class Job:
    """Job: one mark to be measured.

    Attributes
    ----------
    problem
        The problem.
    name
        Instance, memory or method as the patterns of the marks have it.
    cpu_limit_s
        CPU seconds that it may take.
    measure
        Solves once, and returns the row.
    """

    problem: str
    name: str
    cpu_limit_s: float
    measure: Callable[[], Row]

    @property
    def key(self) -> str:
        """The words that ``--only`` is compared with, and that a record is resumed by."""
        return f"{self.problem} {self.name} in {self.cpu_limit_s:g} s"
