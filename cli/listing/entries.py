"""Lists of names with sentences about them, indented, in the width of the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import TextWrapper

# Lines longer than this are hard to read, however wide the terminal is.
_WIDEST = 100
_NARROWEST = 40


@dataclass(frozen=True)
class Entry:
    """A name, a word beside it, and the sentences below it."""

    name: str
    beside: str
    below: tuple[str, ...]


def print_entries(heading: str, entries: Sequence[Entry]) -> None:
    """Print a heading and its entries; each sentence begins a line, and long ones are wrapped."""
    width = min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns))
    names = max((len(entry.name) for entry in entries), default=0)
    wrapper = TextWrapper(width, break_on_hyphens=False)
    lines = wrapper.wrap(heading)
    wrapper.initial_indent = wrapper.subsequent_indent = " " * 6
    for entry in entries:
        lines.append(f"  {entry.name:<{names}}  {entry.beside}".rstrip())
        for text in entry.below:
            lines += wrapper.wrap(text)
    sys.stdout.write("\n".join(lines) + "\n")
