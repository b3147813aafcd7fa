"""The pages that are made from the sources: nothing has to be listed to appear."""

from __future__ import annotations

import re
import shutil
from itertools import chain
from pathlib import Path

import pytest

import jettison
from docs.site_pages import api_pages, command_pages, formulation_pages, problem_pages
from jettison.solvers.core.registry import PROBLEM_KINDS

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
    checkmate = index.index("\nCheckmate and Moccasin")
    assert (
        checkmate < index.index(":doc:`remat_graph.toy <remat_graph.toy>`") < index.index("\nAlpa")
    )


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
    found = {item.name: item.group for item in formulation_pages.find_formulations(ROOT)}
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


def test_every_command_has_a_page_with_its_options(tmp_path: Path) -> None:
    command_pages.write(tmp_path)
    solve = (tmp_path / "solve.rst").read_text(encoding="utf-8")
    assert "jettison solve [OPTIONS] {PROBLEM}" in solve
    assert re.search(r"^``--memory .*``\n   \w+", solve, re.MULTILINE)
    generate = (tmp_path / "generate.rst").read_text(encoding="utf-8")
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
