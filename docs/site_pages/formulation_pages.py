"""One page for each formulation: its model in LaTeX beside its code, grouped by paper.

A module of ``formulations/`` is a formulation if its docstring states a model (``.. math::``). Its
group is the problem that it is for, which is told by the instances that it imports, or else by the
modules that import it. Modules without a model of their own are parts: their code stands on the
page of the formulation that their docstring names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .page_text import (
    SECTION,
    TITLE,
    docstring_of,
    heading,
    imports_of,
    table,
    toctree,
    with_numbers_kept,
    write_page,
)

# What a model is for, most telling first: the module of `instances` that it imports.
_PAPERS = {
    "three_partition": "Hard instances: 3-PARTITION",
    "multi_model_training": "µ-TWO: models that share a device (MLSys 2023)",
    "sub_array": "µ-TWO: models that share a device (MLSys 2023)",
    "weight_offload": "Weight offloading",
    "remat_offload_chain": "POFO: recompute and offload on a chain (NeurIPS 2021)",
    "remat_sharding": "KIWI: shard and recompute (2023)",
    "sharded_graph": "KIWI: shard and recompute (2023)",
    "sharding": "Alpa and the IOPDDL contest: one strategy for each operator",
    "strategy_graph": "Alpa and the IOPDDL contest: one strategy for each operator",
    "remat_graph": "Checkmate and Moccasin: recompute on a graph",
    "remat_chain": "rotor: recompute on a chain (RR-9302)",
}
OTHER = "For several problems"
# Groups from chains to meshes, as the problems are listed elsewhere.
_ORDER = (*reversed(tuple(dict.fromkeys(_PAPERS.values()))), OTHER)


@dataclass(frozen=True)
class Formulation:
    """A module that states a model."""

    path: Path
    title: str
    text: str
    code_line: int
    group: str
    parts: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The name of the module, and of the page."""
        return self.path.stem


def find_formulations(root: Path) -> list[Formulation]:
    """Return all formulations, in the order of their names."""
    modules = {path.stem: path for path in sorted((root / "formulations").glob("*.py"))}
    modules.pop("__init__", None)
    read = {name: docstring_of(path) for name, path in modules.items()}
    models = {name for name, (_, text, _) in read.items() if ".. math::" in text}
    users = _users(root, models)
    parts = {name: [] for name in models}
    for name in modules.keys() - models:
        title, text, _ = read[name]
        named = [word for word in re.findall(r"`(\w+)`", f"{title} {text}") if word in models]
        if named:
            parts[named[0]].append(modules[name])
    return [
        Formulation(
            modules[name],
            *read[name],
            group=_group(modules[name], users[name]),
            parts=tuple(sorted(parts[name])),
        )
        for name in sorted(models)
    ]


def _users(root: Path, models: set[str]) -> dict[str, list[Path]]:
    users: dict[str, list[Path]] = {name: [] for name in models}
    for room in ("formulations", "solvers"):
        for path in sorted((root / room).glob("*.py")):
            for name in imports_of(path):
                stem = name.removeprefix("formulations.")
                if stem in users and stem != path.stem:
                    users[stem].append(path)
    return users


def _group(path: Path, users: Sequence[Path]) -> str:
    own = _paper_of(path)
    if own is not None:
        return own
    of_users = Counter(group for user in users if (group := _paper_of(user)) is not None)
    # A piece that serves several papers belongs to none of them.
    return next(iter(of_users)) if len(of_users) == 1 else OTHER


def _paper_of(path: Path) -> str | None:
    imported = imports_of(path)
    return next((title for name, title in _PAPERS.items() if f"instances.{name}" in imported), None)


def write(root: Path, folder: Path) -> None:
    """Write the pages of all formulations, and one that lists them."""
    formulations = find_formulations(root)
    groups = {
        title: [item for item in formulations if item.group == title]
        for title in _ORDER
        if any(item.group == title for item in formulations)
    }
    tables = []
    for title, members in groups.items():
        tables.append(heading(title, SECTION))
        rows = [(f":doc:`{item.name} <{item.name}>`", item.title) for item in members]
        tables.append(table(("Module", "Model"), rows, (25, 75)))
    in_order = [item for members in groups.values() for item in members]
    write_page(
        folder / "index.rst",
        heading("Formulations", TITLE),
        "The mathematics, one model in a file. Each page has the model as the docstring states it, "
        "with the equation numbers of its paper and what was corrected there, beside the code. "
        "Rows have the same names in both, in the same order.",
        *tables,
        toctree((item.name, item.name) for item in in_order),
    )
    for item in formulations:
        _write_formulation(root, folder, item)


def _write_formulation(root: Path, folder: Path, item: Formulation) -> None:
    code = [_code(folder, root, item.path, item.code_line)]
    code += [_code(folder, root, part, docstring_of(part)[2]) for part in item.parts]
    write_page(
        folder / f"{item.name}.rst",
        ":hide-toc: true",
        f".. rst-class:: formulation\n\n{heading(item.title, TITLE)}",
        f".. rst-class:: paper\n\n{item.group}",
        with_numbers_kept(item.text),
        f".. rst-class:: formulation-code\n\n{heading('The code', SECTION)}",
        ".. container:: code-beside\n\n" + "\n\n".join(code),
    )


def _code(folder: Path, root: Path, path: Path, line: int) -> str:
    steps = len(folder.relative_to(root).parts)
    source = "/".join([".."] * steps + list(path.relative_to(root).parts))
    return (
        f"   .. literalinclude:: {source}\n"
        f"      :caption: {path.relative_to(root)}\n"
        f"      :language: python\n"
        f"      :lines: {line}-\n"
        f"      :lineno-match:\n"
    )
