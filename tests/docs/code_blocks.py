"""The code blocks of a Markdown page, and what their comments say about running them.

A comment right above a block is not shown to readers::

    <!-- not run: needs PyTorch -->
    <!-- given: graph.txt = tests/instances/importers/samples/residual.graph.txt -->
    <!-- file: study.toml -->

The first leaves a block out, with a reason; the second puts a file of the repository where the
commands look for it; the third says that the block is such a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"(?P<ticks>`{3,}|~{3,})(?P<language>\{?[\w-]*\}?)(?P<rest>.*)")
_COMMENT = re.compile(r"<!-- (?P<key>not run|given|file): (?P<value>.+) -->")


@dataclass(frozen=True)
class CodeBlock:
    """One fenced block of a page."""

    language: str
    text: str
    line: int
    not_run: str | None
    given: tuple[tuple[str, str], ...]
    file: str | None


def code_blocks(page: Path) -> Iterator[CodeBlock]:
    """Yield the code blocks of a page; MyST directives, ``{name}``, are none."""
    lines = page.read_text(encoding="utf-8").splitlines()
    comments: list[tuple[str, str]] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if comment := _COMMENT.fullmatch(line):
            comments.append((comment["key"], comment["value"]))
            continue
        fence = _FENCE.fullmatch(line)
        if fence is None:
            assert not comments, f"{page}:{number}: a comment on code stands above no code"
            continue
        start = number
        while not lines[number].startswith(fence["ticks"]):
            number += 1
        number += 1
        if not fence["language"].startswith("{"):
            yield _block(fence["language"], lines[start : number - 1], start, comments)
        comments = []


def _block(
    language: str, lines: list[str], line: int, comments: list[tuple[str, str]]
) -> CodeBlock:
    last = dict(comments)
    given = [value.split(" = ") for key, value in comments if key == "given"]
    return CodeBlock(
        language,
        "\n".join(lines) + "\n",
        line,
        last.get("not run"),
        tuple((name, source) for name, source in given),
        last.get("file"),
    )
