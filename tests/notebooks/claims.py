"""Claims of a notebook in words: its sentences, and the ones of which it computes the truth."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def prose_of(source: Path) -> str:
    """Return the words of a notebook's markdown cells, without comment marks and line breaks."""
    cells = source.read_text(encoding="utf-8").split("\n# %%")[1:]
    lines = [
        line.removeprefix("#").strip()
        for cell in cells
        if cell.startswith(" [markdown]")
        for line in cell.splitlines()[1:]
    ]
    return normalised(" ".join(lines))


def normalised(words: str) -> str:
    """Return words with one space between any two of them."""
    return re.sub(r"\s+", " ", words).strip()


def claimed_sentences(source: Path) -> list[str]:
    """Return the keys of the mapping CLAIMS of a notebook, which are written out, or an empty list.

    Raises
    ------
    TypeError
        If a key is anything but a string that is written out.
    """
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CLAIMS":
            sentences = []
            assert isinstance(node.value, ast.Dict)
            for key in node.value.keys:
                if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                    raise TypeError(f"{source.name}: a key of CLAIMS is no string: {key}")
                sentences.append(key.value)
            return sentences
    return []
