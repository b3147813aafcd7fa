"""Page of the JSON outputs of commands: a table for each, from its JSON Schema in ``docs/json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .page_text import SECTION, SUBSECTION, TITLE, heading, table, write_page

SCHEMAS = Path(__file__).resolve().parents[1] / "json"


def schema_names() -> list[str]:
    """Return the names of the schemas: those of commands, with those of `list` by their nouns."""
    return sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json"))


def write(folder: Path) -> None:
    """Write the page."""
    parts = []
    for name in schema_names():
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
        command = f"jettison {name.replace('list-', 'list ')} --json"
        parts.append(heading(command, SECTION))
        parts.append(
            f":download:`{name}.schema.json <../json/{name}.schema.json>` is its JSON Schema."
        )
        for variant in schema.get("oneOf", [schema]):
            if variant is not schema:
                parts.append(heading(variant["title"], SUBSECTION))
            parts += _tables(variant, "")
    write_page(
        folder / "json.rst",
        heading("JSON outputs of the commands", TITLE),
        "Every command that prints facts prints them as one JSON object with ``--json``, on "
        "standard output; notes and errors are on standard error. Times are integers of "
        "nanoseconds, sizes integers of bytes. Keys are always there unless they are marked as "
        "optional; what has no value is ``null``. A test compares the outputs with these schemas.",
        *parts,
    )


def _tables(schema: dict[str, Any], path: str) -> list[str]:
    """Return the table of an object, and behind it those of the objects in its lists."""
    rows, inner = [], []
    required = set(schema.get("required", ()))
    for key, entry in schema.get("properties", {}).items():
        optional = "" if key in required else ", optional"
        rows.append((f"``{path}{key}``", _kind(entry) + optional, entry["description"]))
        items = entry.get("items", {})
        if "properties" in items:
            inner += _tables(items, f"{path}{key}[].")
    if not schema.get("properties"):
        return inner
    return [table(("Key", "Type", "Meaning"), rows, (34, 20, 46)), *inner]


def _kind(entry: dict[str, Any]) -> str:
    kinds = entry.get("type", "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    words = [f"list of {_kind(entry['items'])}s" if kind == "array" else kind for kind in kinds]
    return " or ".join(words)
