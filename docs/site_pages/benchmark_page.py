"""Page of the benchmarks, from their docstrings."""

from __future__ import annotations

from pathlib import Path

from .page_text import SECTION, TITLE, docstring_of, heading, write_page


def write(root: Path, folder: Path) -> None:
    """Write one page with the docstrings of all benchmarks."""
    parts = []
    for path in sorted((root / "benchmarks").glob("*.py")):
        # A module that is not run serves the others.
        if "__main__" not in path.read_text(encoding="utf-8"):
            continue
        title, text, _ = docstring_of(path)
        parts += [heading(path.stem, SECTION), f"{title}.", text]
    write_page(
        folder / "benchmarks.rst",
        heading("What each benchmark measures", TITLE),
        "A benchmark is a script in ``benchmarks/``; its docstring stands here.",
        *parts,
    )
