"""Output of results to standard output, and of progress to standard error."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import PaddingDimensions
from rich.table import Table

from jettison.instances.catalog import Instance, kind_of, save
from jettison.instances.core.units import format_ns, percent
from jettison.solvers.core.answers.summary import as_text
from jettison.solvers.core.outcome import Progress

# Width of tables in a pipe or a file, which have no width of their own.
_WIDTH_OF_A_FILE = 80
_WIDEST = 10_000
# Blanks on each side of a column where there is room, and where there is less and less.
_ROOMY: PaddingDimensions = (0, 1)
_CLOSE: PaddingDimensions = (0, 1, 0, 0)
_TIGHT: PaddingDimensions = (0, 0)


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON object."""
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    is_wide: bool = False,
) -> None:
    """Print a table; columns whose header begins with a blank are aligned to the right.

    Those are numbers, and stay on one line; texts are broken between words. Where the terminal is
    too narrow for the table, or 80 columns are in a pipe, columns stand closer, and headers of
    numbers are broken as well. What is still wider is broken by the terminal, and nothing is cut.
    A wide table has the width that it needs.
    """
    console = Console(highlight=False, markup=False)
    if not sys.stdout.isatty():
        console.width = _WIDTH_OF_A_FILE
    # Measured where there is room for everything; else no more is asked for than there is.
    roomy = console.options.update(max_width=_WIDEST)
    table = _table(columns, rows, title, _ROOMY)
    if is_wide:
        console.width = max(console.width, console.measure(table, options=roomy).maximum)
    for padding in (_CLOSE, _TIGHT):
        if console.measure(table, options=roomy).maximum > console.width:
            table = _table(columns, rows, title, padding)
    console.width = max(console.width, console.measure(table, options=roomy).minimum)
    with console.capture() as printed:
        console.print(table, crop=False)
    lines = printed.get().splitlines()
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines if line.strip()))


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None,
    padding: PaddingDimensions,
) -> Table:
    table = Table(
        title=title,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
        padding=padding,
        show_edge=padding is _ROOMY,
    )
    for place, column in enumerate(columns):
        is_number = column.startswith(" ")
        header = column.strip()
        if is_number and padding is not _ROOMY:
            header = header.replace(" ", "\n")
        values = [row[place] for row in rows]
        pieces = values if is_number else [word for text in values for word in text.split()]
        table.add_column(
            header,
            justify="right" if is_number else "left",
            no_wrap=is_number,
            min_width=max(map(cell_len, [*pieces, *header.split("\n" if is_number else None)])),
        )
    for row in rows:
        table.add_row(*row)
    return table


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values, aligned, with every value in full."""
    sys.stdout.write(f"{as_text(list(pairs))}\n")


def write_instance(instance: Instance, path: Path, *, with_json: bool = False) -> None:
    """Write an instance, and say so on standard error; as JSON, say what it is on standard output.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    save(instance, path)
    parts = f"{len(instance)} {kind_of(instance).noun}"
    sys.stderr.write(f"wrote {path}: {instance.kind} {instance.name}, {parts}\n")
    if with_json:
        print_json(
            {
                "file": str(path),
                "name": instance.name,
                "kind": instance.kind,
                "sha256": instance.sha256,
                "size": len(instance),
                "provenance": instance.provenance.to_json(),
            }
        )


class ProgressLine:
    """Progress line of a running method on standard error; silent when that is no terminal."""

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
        line = (
            f"{self._label}: {progress.seconds:.1f} s, best {best}, bound {bound}, "
            f"gap {percent(gap)}"
        )
        # A line that the terminal breaks cannot be rewritten.
        columns = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{line[: columns - 1]}")
        sys.stderr.flush()

    def close(self) -> None:
        """Clear the line."""
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
