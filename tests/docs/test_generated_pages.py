"""The pages that are made from the sources: nothing has to be listed to appear."""

from __future__ import annotations

import json
import re
import shutil
from itertools import chain
from pathlib import Path

import pytest

import jettison
from docs.site_pages import (
    api_pages,
    command_outputs,
    command_pages,
    formulation_pages,
    notebook_pages,
    problem_pages,
    problem_pictures,
)
from jettison.solvers.core.registry import PROBLEM_KINDS
from jettison.studies.paper_list import load_papers

ROOT = Path(__file__).parents[2]
MODEL = r'''r"""The fewest moves: a model of a toy.

.. math::
    \text{(moved)} \quad & \sum_i x_i \ge 1
"""

from jettison.instances.remat_graph.problem import RematGraph


def toy(problem: RematGraph) -> int:
    return 1
'''
PART = '"""The columns of `toy`, which has the model."""\n\nNUMBER = 1\n'


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A repository with the formulations and solvers of this one, to add to."""
    for room in ("formulations", "solvers"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("_native"))
    return tmp_path


def test_a_new_formulation_has_a_page_with_its_model_and_its_code(copied: Path) -> None:
    (copied / "formulations/remat_graph/toy.py").write_text(MODEL, encoding="utf-8")
    (copied / "formulations/remat_graph/toy_columns.py").write_text(PART, encoding="utf-8")
    folder = copied / "docs/generated/formulations"
    formulation_pages.write(copied, folder)
    page = (folder / "remat_graph.toy.rst").read_text(encoding="utf-8")
    assert "The fewest moves: a model of a toy\n" in page
    assert r"\text{(moved)} \quad & \sum_i x_i \ge 1" in page
    # The docstring ends in line 5.
    assert (
        "../../../formulations/remat_graph/toy.py\n      :caption: formulations/remat_graph/toy.py"
        in page
    )
    assert ":lines: 6-" in page
    assert "formulations/remat_graph/toy_columns.py" in page
    index = (folder / "index.rst").read_text(encoding="utf-8")
    graphs = index.index("\nRecomputing on a graph\n")
    listed = index.index(":doc:`The fewest moves: a model of a toy <remat_graph.toy>`")
    assert graphs < listed < index.index("\nOne strategy for each operator\n")


def test_the_number_of_an_equation_begins_no_list(copied: Path) -> None:
    text = MODEL.replace(".. math", "* (14) is wrong.\n* As (15) is.\n\n.. math", 1)
    (copied / "formulations/remat_graph/toy.py").write_text(text, encoding="utf-8")
    folder = copied / "docs/generated/formulations"
    formulation_pages.write(copied, folder)
    page = (folder / "remat_graph.toy.rst").read_text(encoding="utf-8")
    assert "* \\(14) is wrong.\n* As (15) is.\n" in page


def test_every_module_that_states_a_model_is_a_formulation() -> None:
    stated = {
        ".".join(path.relative_to(ROOT / "formulations").with_suffix("").parts)
        for path in (ROOT / "formulations").rglob("*.py")
        if ".. math::" in path.read_text(encoding="utf-8").split('"""')[1]
    }
    assert {item.name for item in formulation_pages.find_formulations(ROOT)} == stated


def test_a_formulation_stands_with_its_paper() -> None:
    found = {item.name: item.paper for item in formulation_pages.find_formulations(ROOT)}
    for name, group in (
        ("remat_graph.checkmate", "Checkmate"),
        ("remat_chain.cut", "rotor"),
        ("remat_offload.moments", "POFO"),
        ("weight_offload.paper", "Weight offloading"),
        ("remat_sharding.kiwi.full", "KIWI"),
        ("remat_sharding.kiwi.products", "KIWI"),
        ("sharding.alpa_ilp", "Alpa"),
        ("multi_model.bound.model", "µ-TWO"),
        ("three_partition.triples", "Hard instances"),
    ):
        assert found[name].startswith(group), name


def test_every_problem_has_a_page_with_all_of_its_methods(tmp_path: Path) -> None:
    problem_pages.write(ROOT, tmp_path)
    for kind in PROBLEM_KINDS:
        page = (tmp_path / f"{kind.name}.rst").read_text(encoding="utf-8")
        for method in kind.methods():
            assert f"* - ``{method.name}``" in page
            assert f"{method.function.__module__}.{method.function.__name__}" in page
    assert "gpt2-38-b64-table1" in (tmp_path / "weight-offload.rst").read_text(encoding="utf-8")


def test_every_problem_of_ours_begins_with_a_sentence_and_a_picture(tmp_path: Path) -> None:
    problem_pages.write(ROOT, tmp_path)
    for kind in PROBLEM_KINDS:
        page = (tmp_path / f"{kind.name}.rst").read_text(encoding="utf-8")
        sentence = page.index(f"{kind.summary[:1].upper()}{kind.summary[1:]}")
        assert sentence < page.index(f".. figure:: {kind.name}.png") < page.index("autoclass")


def test_the_picture_of_a_problem_is_that_of_its_example(tmp_path: Path) -> None:
    drawn = tmp_path / "weight-offload.png"
    problem_pictures.draw("weight-offload", problem_pictures.EXAMPLES["weight-offload"], drawn)
    assert drawn.stat().st_size > 10_000


def test_a_notebook_of_a_paper_begins_with_the_papers_numbers_beside_ours(tmp_path: Path) -> None:
    notebook_pages.write(ROOT, tmp_path / "notebooks")
    for paper in load_papers(ROOT):
        text = (tmp_path / f"notebooks/{paper.notebook}.ipynb").read_text(encoding="utf-8")
        first = "".join(json.loads(text)["cells"][0]["source"])
        numbers = [entry for entry in paper.entries if entry.paper and entry.ours]
        assert first.startswith("# ")
        if numbers:
            head, _, _ = first.partition("all that it states.")
            assert "| the paper states | its number | ours |" in head
            assert sum(f"| {entry.ours} |" in head for entry in numbers) >= min(2, len(numbers))


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of all commands, whose examples are run."""
    folder = tmp_path_factory.mktemp("commands")
    command_pages.write(folder)
    return folder


def test_the_page_of_a_command_shows_what_it_prints(commands: Path) -> None:
    assert {path.stem for path in commands.glob("*.rst")} == {
        "index",
        *command_outputs.EXAMPLES,
        *command_outputs.RECORDED,
    }
    for name in (*command_outputs.EXAMPLES, *command_outputs.RECORDED):
        page = (commands / f"{name}.rst").read_text(encoding="utf-8")
        assert ".. code-block:: console" in page
        assert f"\n   $ jettison {name}" in page
    bound = (commands / "bound.rst").read_text(encoding="utf-8")
    assert re.search(r"^   certified bound +929.8 ms", bound, re.MULTILINE)


def test_every_command_has_a_page_with_its_options(commands: Path) -> None:
    solve = (commands / "solve.rst").read_text(encoding="utf-8")
    assert "jettison solve [OPTIONS] {PROBLEM}" in solve
    assert re.search(r"^``--memory .*``\n   \w+", solve, re.MULTILINE)
    generate = (commands / "generate.rst").read_text(encoding="utf-8")
    assert "jettison generate three-partition\n====" in generate


def test_every_public_name_is_on_one_page(tmp_path: Path) -> None:
    found = api_pages.public_names()
    modules = {name.removeprefix("jettison.") for name in found} - {"jettison"}
    assert {*found["jettison"], *modules} == set(jettison.__all__)
    names = list(chain.from_iterable(found.values()))
    assert len(names) == len(set(names))
    for name in modules:
        assert set(getattr(jettison, name).__all__) <= set(names)
    api_pages.write(tmp_path)
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.rst")]
    for module in found:
        for name in found[module]:
            pattern = re.compile(rf"^\.\. auto(class|function):: {module}\.{name}$", re.MULTILINE)
            assert sum(len(pattern.findall(page)) for page in pages) == 1
