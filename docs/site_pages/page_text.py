"""Parts of reStructuredText that the writers of pages share."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

# In the order of their levels. Docstrings use the last one for their own headings.
TITLE, SECTION, SUBSECTION = "#", "=", "-"


def heading(text: str, mark: str) -> str:
    """Return a heading; titles are printed with a line above as well."""
    line = mark * max(4, len(text))
    return f"{line}\n{text}\n{line}\n" if mark == TITLE else f"{text}\n{line}\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    """Return a list-table; cells are reStructuredText of one paragraph."""
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        f"   :widths: {' '.join(str(width) for width in widths)}",
        "",
    ]
    for row in (header, *rows):
        for number, cell in enumerate(row):
            lines.append(f"   {'* -' if number == 0 else '  -'} {' '.join(cell.split())}")
    return "\n".join(lines) + "\n"


def toctree(pages: Iterable[tuple[str, str]]) -> str:
    """Return a table of contents of (title, page), shown in the navigation only."""
    entries = "\n".join(f"   {title} <{page}>" for title, page in pages)
    return f".. toctree::\n   :hidden:\n\n{entries}\n"


def with_escapes(title: str) -> str:
    """Return a title as the text of a link: without markup, which links cannot hold."""
    plain = re.sub(r"`+([^`]*)`+", r"\1", re.sub(r":\w+:`([^`]*)`", r"\1", title))
    return re.sub(r"([<>])", r"\\\1", plain)


@cache
def _parsed(path: Path) -> ast.Module:
    """Parse a file once: the pages of all problems ask for the same ones."""
    return ast.parse(path.read_text(encoding="utf-8"))


def docstring_of(path: Path) -> tuple[str, str, int]:
    """Return a module's first line without its full stop, the rest, and where the code begins."""
    module = _parsed(path)
    first, _, rest = (ast.get_docstring(module) or path.stem).partition("\n")
    end = module.body[0].end_lineno if module.body else 0
    return first.rstrip(".").strip(), rest.strip(), (end or 0) + 1


def defined_in(path: Path) -> list[str]:
    """Return the names of the functions and classes of a module."""
    body = _parsed(path).body
    return [item.name for item in body if isinstance(item, ast.FunctionDef | ast.ClassDef)]


def with_numbers_kept(text: str) -> str:
    """Escape the numbers of equations that begin an item, which would begin a list of their own."""
    return re.sub(r"^(\s*[*-] )\((\w+)\) ", r"\1\\(\2) ", text, flags=re.MULTILINE)


def imports_of(path: Path) -> set[str]:
    """Return the modules of jettison that a file imports, without the name of the package."""
    found = set()
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("jettison.") for name in found if name.startswith("jettison.")}


def write_page(path: Path, *parts: str) -> None:
    """Write a page from its parts, with an empty line between them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(part.strip("\n") for part in parts) + "\n", encoding="utf-8")
