"""Pages of the public names: one for the package, and one for each of its modules."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import jettison

from .page_text import SECTION, TITLE, heading, table, toctree, write_page


def public_names() -> dict[str, list[str]]:
    """Return the public names by module, each name once.

    What is a name of the package itself is not repeated by the modules of its problems.
    """
    members = {name: getattr(jettison, name) for name in jettison.__all__}
    modules = {name: item for name, item in members.items() if isinstance(item, ModuleType)}
    names = {"jettison": sorted(members.keys() - modules.keys())}
    known = set(names["jettison"])
    for name, module in sorted(modules.items()):
        names[f"jettison.{name}"] = [item for item in module.__all__ if item not in known]
        known |= set(names[f"jettison.{name}"])
    return names


def write(folder: Path) -> None:
    """Write the pages of all modules, and one that lists them."""
    found = {module: names for module, names in public_names().items() if names}
    parts = []
    for module, names in found.items():
        rows = [(f":py:obj:`~{module}.{name}`", _summary(module, name)) for name in names]
        parts += [heading(_title(module), SECTION), table(("Name", "What it is"), rows, (30, 70))]
        described = [_description(module, name) for name in names]
        write_page(folder / f"{module}.rst", heading(_title(module), TITLE), *described)
    write_page(
        folder / "index.rst",
        heading("Python interface", TITLE),
        "Instances, problems, the three questions and their answers are names of ``jettison`` "
        "itself; what belongs to one problem alone stands in a module of that problem::\n\n"
        "   import jettison as jt\n\n"
        "   jt.RematGraph, jt.remat_graph.GraphSchedule",
        *parts,
        toctree((_title(module), module) for module in found),
    )


def _member(module: str, name: str) -> object:
    owner = jettison if module == "jettison" else getattr(jettison, module.partition(".")[2])
    return getattr(owner, name)


def _title(module: str) -> str:
    if module == "jettison":
        return "jettison: instances, problems, questions, answers"
    text = inspect.getdoc(getattr(jettison, module.partition(".")[2])) or ""
    return f"{module}: {text.partition(chr(10))[0].rstrip('.')}"


def _summary(module: str, name: str) -> str:
    return (getattr(_member(module, name), "__doc__", "") or "").strip().partition("\n")[0]


def _description(module: str, name: str) -> str:
    if isinstance(_member(module, name), type):
        return f"{heading(name, SECTION)}\n.. autoclass:: {module}.{name}\n   :members:\n"
    return f"{heading(name, SECTION)}\n.. autofunction:: {module}.{name}\n"
