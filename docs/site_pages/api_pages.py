"""The public names of jettison, a page for each room."""

from __future__ import annotations

from pathlib import Path

import jettison

from .page_text import SECTION, TITLE, heading, table, toctree, write_page

_ROOMS = {
    "instances": "What is given: instances and problems",
    "schedules": "What an answer is: schedules and their replay",
    "solvers": "The three questions, and results",
    "certificates": "Proofs of lower bounds, checked",
}


def public_names() -> dict[str, list[str]]:
    """Return the public names by room."""
    rooms: dict[str, list[str]] = {room: [] for room in _ROOMS}
    for name in sorted(jettison.__all__):
        rooms[getattr(jettison, name).__module__.split(".")[1]].append(name)
    return rooms


def write(folder: Path) -> None:
    """Write the pages of all rooms, and one that lists them."""
    rooms = public_names()
    parts = []
    for room, names in rooms.items():
        rows = [(f":py:obj:`~jettison.{name}`", _summary(name)) for name in names]
        parts += [heading(_ROOMS[room], SECTION), table(("Name", "What it is"), rows, (30, 70))]
        described = [_description(name) for name in names]
        write_page(folder / f"{room}.rst", heading(_ROOMS[room], TITLE), *described)
    write_page(
        folder / "index.rst",
        heading("Python interface", TITLE),
        "All of these are names of ``jettison`` itself::\n\n   import jettison as jt",
        *parts,
        toctree((_ROOMS[room], room) for room in rooms),
    )


def _summary(name: str) -> str:
    return (getattr(jettison, name).__doc__ or "").strip().partition("\n")[0]


def _description(name: str) -> str:
    if isinstance(getattr(jettison, name), type):
        return f"{heading(name, SECTION)}\n.. autoclass:: jettison.{name}\n   :members:\n"
    return f"{heading(name, SECTION)}\n.. autofunction:: jettison.{name}\n"
