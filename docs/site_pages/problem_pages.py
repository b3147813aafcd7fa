"""One page for each problem: what is given, its methods from the registry, how they work."""

from __future__ import annotations

from pathlib import Path

import jettison
from jettison.instances.catalog import bundled_instances
from jettison.instances.core.errors import InputError
from jettison.solvers.core.method import Method
from jettison.solvers.core.pose import Resources, pose_problem
from jettison.solvers.core.registry import PROBLEMS, methods_of

from .formulation_pages import find_formulations
from .page_text import (
    SECTION,
    TITLE,
    docstring_of,
    heading,
    imports_of,
    table,
    toctree,
    write_page,
)


def problem_class(problem: str) -> str:
    """Return the public name of the class that poses a problem."""
    return next(
        name
        for name in jettison.__all__
        if getattr(getattr(jettison, name), "problem", None) == problem
    )


def write(root: Path, folder: Path) -> None:
    """Write the pages of all problems, and one that lists them."""
    names = {problem: problem_class(problem) for problem in PROBLEMS}
    rows = []
    for problem, name in names.items():
        summary = (getattr(jettison, name).__doc__ or "").strip().partition("\n")[0]
        rows.append((f":doc:`{problem} <{problem}>`", summary, str(len(methods_of(problem)))))
        _write_problem(root, folder, problem, name)
    write_page(
        folder / "index.rst",
        heading("Problems", TITLE),
        "A problem is an instance and the resources that a training step has. Each has its "
        "methods, and every answer is replayed in exact integers before it is printed.",
        table(("Problem", "The question", "Methods"), rows, (25, 65, 10)),
        toctree((problem, problem) for problem in PROBLEMS),
    )


def _write_problem(root: Path, folder: Path, problem: str, name: str) -> None:
    methods = methods_of(problem)
    rows = [(f"``{item.name}``", str(item.promise), item.summary, item.source) for item in methods]
    modules: dict[str, list[Method]] = {}
    for item in methods:
        modules.setdefault(item.entry.partition(":")[0], []).append(item)
    write_page(
        folder / f"{problem}.rst",
        heading(problem, TITLE),
        f".. autoclass:: jettison.{name}\n   :no-index:\n",
        heading("Methods", SECTION),
        f"``{methods[0].name}`` is used where none is named.",
        table(("Method", "Promise", "What it does", "Source"), rows, (18, 16, 40, 26)),
        heading("Models", SECTION),
        _models(root, modules),
        heading("Bundled instances", SECTION),
        _instances(problem),
        *(_module(root, module, items) for module, items in modules.items()),
    )


def _models(root: Path, modules: dict[str, list[Method]]) -> str:
    """Link the formulations that the modules of the methods reach within `solvers`."""
    seen: set[str] = set()
    waiting = [f"solvers.{module}" for module in modules]
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
        f"- :doc:`{item.name} <../formulations/{item.name}>`: {item.title}" for item in used
    )


def _instances(problem: str) -> str:
    # One instance of a kind tells for all of its kind.
    examples = {entry.kind: entry.name for entry in bundled_instances()}
    kinds = {kind for kind, name in examples.items() if _can_be_posed(problem, name)}
    names = [entry.name for entry in bundled_instances() if entry.kind in kinds]
    if not names:
        return "None is bundled; see :doc:`../commands/import` and :doc:`../commands/generate`."
    return ", ".join(f"``{name}``" for name in names) + "."


def _can_be_posed(problem: str, name: str) -> bool:
    try:
        pose_problem(
            problem, jettison.load(name), Resources(memory="100%", bandwidth=_bandwidth(problem))
        )
    except InputError:
        return False
    return True


def _bandwidth(problem: str) -> str | None:
    return "12GB/s" if problem in {"remat-offload-chain", "weight-offload"} else None


def _module(root: Path, module: str, methods: list[Method]) -> str:
    title, text, _ = docstring_of(root / "solvers" / f"{module.replace('.', '/')}.py")
    entries = {item.entry.replace(":", "."): None for item in methods}
    functions = [
        f".. autofunction:: jettison.solvers.{entry}\n   :no-index:\n" for entry in entries
    ]
    names = ", ".join(f"``{item.name}``" for item in methods)
    return "\n\n".join([heading(title, SECTION), f"Methods: {names}.", text, *functions])
