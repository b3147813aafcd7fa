"""Places in the repository to which the lists of the papers point: checked, and linked."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.solvers.core.registry import PROBLEM_KINDS

from .formulation_pages import find_formulations
from .page_text import docstring_of


def check_place(root: Path, place: str) -> None:
    """Refuse a place that is not there: no such file, name, row, heading, problem or method.

    Raises
    ------
    InputError
        With what the place would need.
    """
    file, _, mark = place.partition("#")
    if ":" in file:
        problem, _, method = file.partition(":")
        methods = {kind.name: {item.name for item in kind.methods()} for kind in PROBLEM_KINDS}
        if method not in methods.get(problem, set()):
            raise InputError(
                f"there is no method {method!r} of {problem!r}",
                expected="see jettison list methods",
                field=place,
            )
    elif not (root / file).is_file():
        raise InputError("there is no such file", expected="follow what moved it", field=place)
    elif mark and mark not in marks_of(root / file) and not _has_row(root / file, mark):
        raise InputError(
            f"{file} has no {mark!r}",
            expected="name a heading, a class, a function, or a row such as (12)",
            field=place,
        )


@cache
def marks_of(path: Path) -> frozenset[str]:
    """Return the headings of a page or notebook, or all classes and functions of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return frozenset(re.findall(r"^#+ (.+?) *$", text, re.MULTILINE))
    if path.parent.name == "notebooks":
        return frozenset(re.findall(r"^# #+ (.+?) *$", text, re.MULTILINE))
    if path.suffix != ".py":
        return frozenset()
    named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return frozenset(node.name for node in ast.walk(ast.parse(text)) if isinstance(node, named))


def link_to(root: Path, place: str) -> str:
    """Return a place as reStructuredText: a link where the site has a page of it."""
    file, _, mark = place.partition("#")
    path = Path(file)
    shown = f"{path.name}, {mark}" if mark else file
    if ":" in file:
        return f":doc:`{file.replace(':', ', ')} <../problems/{file.partition(':')[0]}>`"
    if path.parts[0] == "notebooks":
        page = f"../notebooks/{path.stem}"
        return f":doc:`{_plain(mark)} <{page}>`" if mark else f":doc:`notebook <{page}>`"
    if path.suffix == ".md" and path.parts[0] == "docs":
        return f":doc:`{_plain(mark) or path.stem} </{path.relative_to('docs').with_suffix('')}>`"
    name = ".".join(path.with_suffix("").parts[1:])
    if path.parts[0] == "formulations" and name in _formulations(root):
        return f":doc:`{_plain(shown)} <../formulations/{name}>`"
    return f"``{place.replace('#', ': ')}``"


def _has_row(path: Path, mark: str) -> bool:
    return mark.startswith("(") and path.suffix == ".py" and mark in docstring_of(path)[1]


@cache
def _formulations(root: Path) -> frozenset[str]:
    return frozenset(item.name for item in find_formulations(root))


def _plain(text: str) -> str:
    # In the text of a link these would end it.
    return text.replace("<", "").replace(">", "").replace("`", "")
