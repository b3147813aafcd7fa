"""Progress line of a profile, in a terminal."""

from __future__ import annotations

import sys


class StageLine:
    """Progress line of a profile on standard error; silent when that is no terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._is_terminal = sys.stderr.isatty()

    def show(self, number: int, count: int, stage: str) -> None:
        """Rewrite the line."""
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{self._label}: stage {number} of {count}, {stage}")
            sys.stderr.flush()

    def show_operation(self, name: str) -> None:
        """Rewrite the line for one operation of a graph."""
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{self._label}: operation {name}")
            sys.stderr.flush()

    def close(self) -> None:
        """Clear the line."""
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
