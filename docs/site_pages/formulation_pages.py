"""Pages of the formulations: the model in LaTeX beside its code, grouped by paper.

A module of ``formulations/`` is a formulation if its docstring states a model (``.. math::``). Its
group is the paper of the column, the folder, that it stands in. Modules without a model of their
own are parts: their code stands on the page of the formulation of their column that their
docstring names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .page_text import (
    SECTION,
    TITLE,
    defined_in,
    docstring_of,
    heading,
    table,
    toctree,
    with_numbers_kept,
    write_page,
)

# Columns from chains to meshes, as the problems are listed elsewhere.
PAPERS = {
    "remat_chain": "rotor: recompute on a chain (RR-9302)",
    "remat_graph": "Checkmate and Moccasin: recompute on a graph",
    "sharding": "Alpa and the IOPDDL contest: one strategy for each operator",
    "remat_sharding": "KIWI: shard and recompute (2023)",
    "remat_offload": "POFO: recompute and offload on a chain (NeurIPS 2021)",
    "remat_offload_graph": "Recompute and offload on a graph",
    "weight_offload": "Weight offloading",
    "training_chain": "One budget: activations, weights, gradients and states together",
    "multi_model": "µ-TWO: models that share a device (MLSys 2023)",
    "pipeline_chain": "Pipelines of devices",
    "three_partition": "Hard instances: 3-PARTITION",
    "milp": "For several problems",
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
        """The paper of its column."""
        return PAPERS[self.name.partition(".")[0]]


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
        for title in PAPERS.values()
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
