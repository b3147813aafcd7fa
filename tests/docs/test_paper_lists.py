"""Lists of what each paper states: they are whole, and each entry points to something."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from itertools import chain
from pathlib import Path

import pytest

from docs.site_pages import paper_pages
from docs.site_pages.paper_places import check_place
from jettison.instances.core.errors import InputError
from jettison.studies.paper_list import (
    Kind,
    PaperList,
    Status,
    load_paper,
    load_papers,
    numbers_in,
)
from tests.notebooks.claims import claimed_sentences

ROOT = Path(__file__).parents[2]
claims_of = cache(claimed_sentences)
PAPERS = load_papers(ROOT)
HEAD = """title = "A toy"
source = "Nobody, 2020"
read = "Made up."
notebook = "rotor"
corrections = []

[numbered]
figure = "1-2"
"""
FIGURE_1 = """
[[entry]]
kind = "figure"
number = "1"
title = "A picture"
status = "reproduced"
where = ["README.md"]
"""
FIGURE_2 = FIGURE_1.replace('"1"', '"2"')


@pytest.fixture
def refused(tmp_path: Path):
    """Return what is said of a list with these words."""

    def message(text: str) -> str:
        path = tmp_path / "toy.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            load_paper(path)
        return str(caught.value)

    return message


def test_six_papers_have_a_list_beside_their_notebook() -> None:
    names = ["checkmate", "kiwi", "mu_two", "pofo", "rotor", "weight_offload"]
    assert [paper.name for paper in PAPERS] == names
    assert [paper.notebook for paper in PAPERS] == names


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_place_of_a_list_exists(paper: PaperList) -> None:
    paper_pages.check_places(ROOT, paper)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_sentences_that_a_number_rests_on_are_checked_by_a_notebook(paper: PaperList) -> None:
    asked = 0
    for entry in paper.entries:
        places = (f"notebooks/{paper.notebook}.py", *entry.where)
        notebooks = {place.partition("#")[0] for place in places if place.startswith("notebooks/")}
        claimed = chain.from_iterable(claims_of(ROOT / name) for name in notebooks)
        missing = set(entry.checked) - set(claimed)
        assert not missing, entry.title
        asked += len(entry.checked)
    assert asked


def test_the_numbers_of_the_heads_are_those_of_the_papers() -> None:
    # Counted in the papers. Equations with letters count each, as Checkmate's (1a) to (1f).
    counts = {
        paper.name: [
            sum(len(numbers_in(entry.number)) for entry in paper.of(kind))
            for kind in (Kind.ALGORITHM, Kind.EQUATION, Kind.FIGURE, Kind.TABLE)
        ]
        for paper in PAPERS
    }
    assert counts == {
        "checkmate": [2, 6 + 5 + 3 + 3 + 2, 8, 2],
        "kiwi": [0, 32, 7, 2],
        "mu_two": [8, 0, 9, 1 + 5],
        "pofo": [0, 2, 3, 2],
        "rotor": [2, 2, 13, 1],
        "weight_offload": [2, 8, 4, 1],
    }


def test_ranges_of_numbers_and_letters_are_spelled_out() -> None:
    assert numbers_in("1, A-C, 9-11, 4.1") == ["1", "A", "B", "C", "9", "10", "11", "4.1"]
    assert numbers_in("") == []


def test_a_whole_list_is_read(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(HEAD + FIGURE_1 + FIGURE_2, encoding="utf-8")
    paper = load_paper(path)
    assert [entry.name for entry in paper.of(Kind.FIGURE)] == ["Figure 1", "Figure 2"]
    assert paper.counts() == {Status.REPRODUCED: 2}


def test_a_number_that_is_not_listed_or_listed_twice_is_named(refused) -> None:
    assert "toy.toml: numbered.figure: figure 2 is listed 0 times" in refused(HEAD + FIGURE_1)
    twice = HEAD + FIGURE_1 + FIGURE_2 + FIGURE_1
    assert "figure 1 is listed 2 times" in refused(twice)
    third = FIGURE_1.replace('"1"', '"3"')
    assert "figure 3 is listed, but is none of 1-2" in refused(HEAD + FIGURE_1 + FIGURE_2 + third)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"reproduced"', '"not"', "entry[0].why: is empty for 'Figure 1', 'A picture'"),
        ('"reproduced"', '"in structure"', "entry[0].why: is empty"),
        ('["README.md"]', "[]", "entry[0].where: is empty"),
        ('["README.md"]', '["README.md"]\npaper = "7"', "entry[0].ours: is empty"),
        ('"reproduced"', '"done"', "'done' is not a valid Status"),
        ('"A picture"', f'"{"A" * 201}"', "entry[0].title: has 201 characters"),
        ('title = "A picture"\n', "", "entry[0].title: is missing"),
        ("number", "numbers", "entry[0]: unknown field 'numbers'"),
    ],
)
def test_an_entry_that_lacks_something_is_refused(refused, old: str, new: str, said: str) -> None:
    assert said in refused(HEAD + FIGURE_1.replace(old, new) + FIGURE_2)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("solvers/remat_chain/nowhere.py", "there is no such file"),
        ("solvers/remat_chain/rotor.py#solve_rotors", "has no 'solve_rotors'"),
        ("formulations/weight_offload/paper.py#(99)", "has no '(99)'"),
        ("notebooks/rotor.py#Figure 99", "has no 'Figure 99'"),
        ("docs/corrections.md#Figure 99", "has no 'Figure 99'"),
        ("README.md#What it", "has no 'What it'"),
        ("remat-chain:rotors", "there is no method 'rotors' of 'remat-chain'"),
        ("remat-chains:rotor", "there is no method 'rotor' of 'remat-chains'"),
    ],
)
def test_a_place_that_does_not_exist_is_named(place: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        check_place(ROOT, place)


@pytest.mark.parametrize(
    "place",
    [
        "solvers/remat_chain/rotor.py#solve_rotor",
        "solvers/_native/remat_chain/persistent_program.cpp",
        "formulations/weight_offload/paper.py#(4)",
        "README.md#What it solves",
        "remat-chain:rotor",
    ],
)
def test_a_place_that_exists_is_found(place: str) -> None:
    check_place(ROOT, place)


def test_a_paper_has_a_page_with_all_of_its_entries(tmp_path: Path) -> None:
    paper_pages.write(ROOT, tmp_path)
    index = (tmp_path / "index.rst").read_text(encoding="utf-8")
    for paper in PAPERS:
        page = (tmp_path / f"{paper.name}.rst").read_text(encoding="utf-8")
        assert page.count("   * - ") == len(paper.entries) + page.count("* - In the paper")
        assert f":doc:`{paper.name} <{paper.name}>`" in index
    page = (tmp_path / "rotor.rst").read_text(encoding="utf-8")
    assert "**Theorem 1.** C(s, t, m) is the least time of a persistent sequence" in page
    assert ":doc:`remat-chain, rotor-exact <../problems/remat-chain>`" in page


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_notebook_of_a_paper_shows_its_list(paper: PaperList) -> None:
    """It is the list as it stands: after a change, `make notebooks`."""
    shown = json.loads((ROOT / f"notebooks/{paper.notebook}.ipynb").read_text(encoding="utf-8"))
    tables = [
        "".join(output["data"].get("text/html", ""))
        for cell in shown["cells"]
        if f'found_paper("{paper.name}").table()' in "".join(cell["source"])
        for output in cell["outputs"]
    ]
    cells = [unescape(cell) for cell in re.findall("<td>(.*?)</td>", "".join(tables), re.DOTALL)]
    assert cells == paper.table().to_numpy().ravel().tolist()
