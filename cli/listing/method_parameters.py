"""Parameters of methods as tables, one for each method, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from jettison.cli.listing.entries import Entry, print_entries
from jettison.solvers.core.method import Method

# The end of what a parameter is; what follows says why it is as it is.
_END = re.compile(r"[.;:](?: |$)")
_UNITS = {"bytes": "bytes", "ns": "ns", "s": "s", "bits": "bits", "percent": "%", "share": "share"}


def parameters_of(method: Method[Any]) -> list[dict[str, Any]]:
    """Return name, default, unit and whole meaning of each parameter of a method."""
    meanings = method.params.meanings()
    return [
        {"name": name, "default": value, "unit": _unit(name), "meaning": meanings[name]}
        for name, value in asdict(method.params).items()
    ]


def print_parameters(problem: str, methods: Sequence[Method[Any]]) -> None:
    """Print a list for each method that has parameters, one entry for each of them.

    Where a method before it has the same parameter, its line names that method.
    """
    described: dict[tuple[str, str], str] = {}
    for method in methods:
        rows = []
        for entry in parameters_of(method):
            name, meaning = entry["name"], entry["meaning"]
            first = described.setdefault((name, meaning), method.name)
            told = _END.split(meaning, maxsplit=1)[0]
            default = f"{_written(entry['default'])} {entry['unit']}".rstrip()
            same = "" if first == method.name else f"as for {first}"
            rows.append(Entry(name, f"{default}  {same}", () if same else (told,)))
        if rows:
            typer.echo()
            print_entries(f"parameters of {problem} {method.name}, with their defaults", rows)


def _unit(name: str) -> str:
    """Return the unit of a parameter, which its name says; none for counts."""
    words = name.split("_")
    return _UNITS.get(words[-1]) or ("share" if "share" in words else "")


def _written(value: object) -> str:
    """Write a default as a file of parameters may have it."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:_}" if is_whole else str(value).lower() if value is True else str(value)
