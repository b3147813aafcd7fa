"""Pages of the problems: the instance, the methods from the registry, and how they work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jettison
from jettison.instances.catalog import bundled_instances
from jettison.instances.core.errors import InputError
from jettison.instances.core.instance import Instance
from jettison.solvers.core.method import Method
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.registry import PROBLEM_KINDS
from jettison.solvers.core.resources import Resources

from . import problem_pictures
from .formulation_pages import find_formulations
from .page_text import (
    SECTION,
    TITLE,
    docstring_of,
    heading,
    imports_of,
    table,
    toctree,
    with_escapes,
    write_page,
)


def write(root: Path, folder: Path) -> None:
    """Write the pages of all problems, and one that lists them."""
    rows = []
    for kind in PROBLEM_KINDS:
        summary = (kind.problem.__doc__ or "").strip().partition("\n")[0]
        rows.append((f":doc:`{kind.name} <{kind.name}>`", summary, str(len(kind.methods()))))
        _write_problem(root, folder, kind)
    write_page(
        folder / "index.rst",
        heading("Problems", TITLE),
        "A problem is an instance and the resources that a training step has. Each has its "
        "methods, and every answer is replayed in exact integers before it is printed.",
        table(("Problem", "The question", "Methods"), rows, (25, 65, 10)),
        toctree((name, name) for name in PROBLEM_KINDS.names),
    )


def _write_problem(root: Path, folder: Path, kind: ProblemKind[Any]) -> None:
    methods = kind.methods()
    rows = [(f"``{item.name}``", str(item.promise), item.summary, item.source) for item in methods]
    modules: dict[str, list[Method[Any]]] = {}
    for item in methods:
        modules.setdefault(item.function.__module__.removeprefix("jettison."), []).append(item)
    write_page(
        folder / f"{kind.name}.rst",
        heading(kind.name, TITLE),
        f"{kind.summary[:1].upper()}{kind.summary[1:]}",
        problem_pictures.shown(kind.name),
        heading("The problem", SECTION),
        f".. autoclass:: jettison.{kind.problem.__name__}\n   :no-index:\n",
        heading("Methods", SECTION),
        f"``{methods[0].name}`` is used where none is named.",
        table(("Method", "Promise", "What it does", "Source"), rows, (18, 16, 40, 26)),
        heading("Models", SECTION),
        _models(root, modules),
        heading("Bundled instances", SECTION),
        _instances(kind),
        *(_module(root, module, items) for module, items in modules.items()),
    )


def _models(root: Path, modules: dict[str, list[Method[Any]]]) -> str:
    """Link the formulations that the modules of the methods reach within `solvers`."""
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        path = root / f"{module.replace('.', '/')}.py"
        if module not in seen and path.is_file():
            seen.add(module)
            waiting += [
                found
                for found in imports_of(path)
                if found.startswith(("solvers.", "formulations."))
            ]
    used = [item for item in find_formulations(root) if f"formulations.{item.name}" in seen]
    if not used:
        return "The methods of this problem need no integer program."
    return "\n".join(
        f"- :doc:`{with_escapes(item.title)} <../formulations/{item.name}>`" for item in used
    )


def _instances(kind: ProblemKind[Any]) -> str:
    # One instance of a kind tells for all of its kind.
    examples = {entry.kind: entry.name for entry in bundled_instances()}
    kinds = {
        name for name, example in examples.items() if _can_be_posed(kind, jettison.load(example))
    }
    names = [entry.name for entry in bundled_instances() if entry.kind in kinds]
    if not names:
        return "None is bundled; see :doc:`../commands/import` and :doc:`../commands/generate`."
    return ", ".join(f"``{name}``" for name in names) + "."


def _can_be_posed(kind: ProblemKind[Any], instance: Instance) -> bool:
    bandwidth = "12GB/s" if "bandwidth" in kind.needs else None
    one = 1 if "devices" in kind.needs else None
    # Each device of a pipeline has an amount of memory.
    memory = "100%" if one is None else "1TiB"
    given = Resources(memory=memory, bandwidth=bandwidth, devices=one, microbatches=one)
    try:
        pose_problem(kind.name, instance, given)
    except InputError:
        return False
    return True


def _module(root: Path, module: str, methods: list[Method[Any]]) -> str:
    title, text, _ = docstring_of(root / f"{module.replace('.', '/')}.py")
    entries = dict.fromkeys(item.function.__name__ for item in methods)
    functions = [
        f".. autofunction:: jettison.{module}.{entry}\n   :no-index:\n" for entry in entries
    ]
    names = ", ".join(f"``{item.name}``" for item in methods)
    return "\n\n".join([heading(title, SECTION), f"Methods: {names}.", text, *functions])
