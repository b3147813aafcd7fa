"""Pages of the formulations: the model in LaTeX beside its code, grouped by problem.

A module of ``formulations/`` is a formulation if its docstring states a model (``.. math::``). Its
group is the problem of the column, the folder, that it stands in. Modules without a model of their
own are parts: their code stands on the page of the formulation of their column that their
docstring names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from jettison.solvers.core.registry import PROBLEM_KINDS

from .page_text import (
    SECTION,
    TITLE,
    defined_in,
    docstring_of,
    heading,
    table,
    toctree,
    with_escapes,
    with_numbers_kept,
    write_page,
)

# Titles of the columns, as the problems are listed elsewhere, and the papers whose models they are.
GROUPS = {
    "remat_chain": ("Recomputing on a chain", "rotor (RR-9302)"),
    "remat_offload": ("Recomputing and offloading on a chain", "POFO (NeurIPS 2021)"),
    "weight_offload": ("Offloading weights", "Weight offloading (2022)"),
    "training_chain": (
        "One budget for activations, weights, gradients and states",
        "One budget",
    ),
    "pipeline_chain": ("A pipeline of devices", "Pipelines of devices"),
    "remat_graph": ("Recomputing on a graph", "Checkmate and Moccasin"),
    "remat_offload_graph": (
        "Recomputing and offloading on a graph",
        "POET (ICML 2022), and moments of all schedules",
    ),
    "sharding": ("One strategy for each operator", "Alpa and the IOPDDL contest"),
    "remat_sharding": ("Sharding and recomputing together", "KIWI (2023)"),
    "multi_model": ("Several models on one device", "µ-TWO (MLSys 2023)"),
    "three_partition": ("Hard instances from 3-PARTITION", "Hard instances"),
    "milp": ("For several problems", "For several problems"),
}


@dataclass(frozen=True)
class Formulation:
    """Formulation: a module that states a model.

    Attributes
    ----------
    name
        Its place in ``formulations/``, with dots: the name of the page as well.
    """

    name: str
    path: Path
    title: str
    text: str
    code_line: int
    parts: tuple[Path, ...]

    @property
    def group(self) -> str:
        """The title of its column."""
        return GROUPS[self.column][0]

    @property
    def paper(self) -> str:
        """The paper whose problem it is a model of."""
        return GROUPS[self.column][1]

    @property
    def column(self) -> str:
        """The column that it stands in."""
        return self.name.partition(".")[0]


def find_formulations(root: Path) -> list[Formulation]:
    """Return all formulations, in the order of their names."""
    room = root / "formulations"
    found = {
        ".".join(path.relative_to(room).with_suffix("").parts): path
        for path in sorted(room.rglob("*.py"))
        if path.stem != "__init__"
    }
    read = {name: docstring_of(path) for name, path in found.items()}
    parts: dict[str, list[Path]] = {
        name: [] for name in sorted(found) if ".. math::" in read[name][1]
    }
    # This is how a docstring names the model that it is a part of: module, or what builds it.
    models = {
        (name.partition(".")[0], word): name
        for name in parts
        for word in (name.rpartition(".")[2], *defined_in(found[name]))
    }
    for name in sorted(found.keys() - parts.keys()):
        title, text, _ = read[name]
        words = re.findall(r"`([\w.]+)`", f"{title} {text}")
        named = [(name.partition(".")[0], word.rpartition(".")[2]) for word in words]
        owner = next((models[key] for key in named if key in models), None)
        if owner is not None:
            parts[owner].append(found[name])
    return [Formulation(name, found[name], *read[name], parts=tuple(parts[name])) for name in parts]


def write(root: Path, folder: Path) -> None:
    """Write the pages of all formulations, and one that lists them."""
    formulations = find_formulations(root)
    groups = {
        title: [item for item in formulations if item.group == title]
        for title, _ in GROUPS.values()
        if any(item.group == title for item in formulations)
    }
    tables = []
    for title, members in groups.items():
        tables += [heading(title, SECTION), _about(members[0])]
        rows = [
            (f":doc:`{with_escapes(item.title)} <{item.name}>`", f"``{item.name}``")
            for item in members
        ]
        tables.append(table(("Model", "Module"), rows, (70, 30)))
    in_order = [item for members in groups.values() for item in members]
    write_page(
        folder / "index.rst",
        heading("Formulations", TITLE),
        "The mathematics, one model in a file. Each page has the model as the docstring states it, "
        "with the equation numbers of its paper and what was corrected there, beside the code. "
        "Rows have the same names in both, in the same order.",
        *tables,
        toctree((with_escapes(item.title), item.name) for item in in_order),
    )
    for item in formulations:
        _write_formulation(root, folder, item)


def _about(item: Formulation) -> str:
    """Return a line on the problem and the paper of the models of a column."""
    name = item.column.replace("_", "-")
    known = find_kind_of_column(name)
    problem = "" if known is None else f"Models of :doc:`{known} <../problems/{known}>`: "
    return f"{problem}{item.paper}." if problem else f"{item.paper}."


def find_kind_of_column(name: str) -> str | None:
    """Return the name of the problem of a column, which it begins with; None if there is none."""
    return next((known for known in PROBLEM_KINDS.names if known.startswith(name)), None)


def _write_formulation(root: Path, folder: Path, item: Formulation) -> None:
    code = [_code(folder, root, item.path, item.code_line)]
    code += [_code(folder, root, part, docstring_of(part)[2]) for part in item.parts]
    write_page(
        folder / f"{item.name}.rst",
        ":hide-toc: true",
        f".. rst-class:: formulation\n\n{heading(item.title, TITLE)}",
        f".. rst-class:: paper\n\n{item.group}: {item.paper}",
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
