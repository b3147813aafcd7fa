"""What goes to standard output (the result) and to standard error (the progress)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from jettison.instances.units import format_ns
from jettison.solvers.outcome import Progress

# A pipe or a file has no width; a table that is cut there would lose numbers.
_WIDTH_OF_A_FILE = 160


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON object."""
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None
) -> None:
    """Print a table; columns whose header begins with a blank are aligned to the right."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column.strip(), justify="right" if column.startswith(" ") else "left")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else _WIDTH_OF_A_FILE
    Console(width=width, highlight=False, markup=False).print(table)


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values, aligned, without ever cutting a value."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        sys.stdout.write(f"{name:<{width}}  {value}\n")


def percent(share: float | None) -> str:
    """Write a share as a percentage, or a dash."""
    return "-" if share is None else f"{100 * share:.2f} %"


class ProgressLine:
    """One line on standard error that follows a running method; silent when it is no terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        """Rewrite the line."""
        if not self._is_terminal:
            return
        best = "-" if progress.time_ns is None else format_ns(progress.time_ns)
        bound = "-" if progress.lower_bound_ns is None else format_ns(progress.lower_bound_ns)
        gap = None
        if progress.time_ns and progress.lower_bound_ns is not None:
            gap = (progress.time_ns - progress.lower_bound_ns) / progress.time_ns
        sys.stderr.write(
            f"\r\x1b[K{self._label}: {progress.seconds:.1f} s, best {best}, bound {bound}, "
            f"gap {percent(gap)}"
        )
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
