"""Each notebook runs, gives the expected tables, and shows the outputs of its present source.

Of the rows that `notebooks/_rows` keeps some are computed again; a run finds all that it asks for,
and asks for all that is there.

What it says in words is compared, too: its mapping CLAIMS has sentences, or parts of them, as
they stand in its text, and whether they hold of the tables that it has computed.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pandas as pd
import pytest

from tests.notebooks.claims import claimed_sentences, normalised, prose_of

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted(NOTEBOOKS.glob("*.py"))
WITH_CLAIMS = {
    "checkmate",
    "devices",
    "kiwi",
    "mu_two",
    "one_budget",
    "planners",
    "pofo",
    "rotor",
    "theorem1",
    "weight_offload",
}
ROUNDED = "54 are equal to them when they are rounded to milliseconds"
LAYERS_OF_KIWI = (
    "278 operators for each layer and 30 more give all of the paper's numbers but 1192, "
    "for which it would be 1142."
)
REPEATED = [
    (
        "docs/tour.md",
        "all 60 numbers of its Table 1 within 1 ms, 54 when rounded",
        "weight_offload",
        ROUNDED,
    ),
    ("docs/corrections.md", LAYERS_OF_KIWI, "kiwi", LAYERS_OF_KIWI),
]


def code_of_source(path: Path) -> list[str]:
    """The code cells of a source in the percent format."""
    cells = path.read_text(encoding="utf-8").split("\n# %%")[1:]
    code = [cell.strip() for cell in cells if not cell.startswith(" [markdown]")]
    # Jupyter's own commands are comments in the source.
    return [re.sub("^# %", "%", cell, flags=re.MULTILINE) for cell in code]


def test_there_is_a_notebook() -> None:
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_gives_its_expected_tables_and_its_sentences_hold(source: Path) -> None:
    # One test, for a notebook takes long to run, and tests may be spread over processes.
    computed = runpy.run_path(str(source))
    assert computed["TABLES"]
    for name, table in computed["TABLES"].items():
        expected = pd.read_csv(NOTEBOOKS / "_expected" / f"{name}.csv")
        pd.testing.assert_frame_equal(table.reset_index(drop=True), expected)
    functions = computed["KEPT"].functions if "KEPT" in computed else []
    assert {function.name for function in functions} == {
        path.stem for path in (NOTEBOOKS / "_rows").glob(f"{source.stem}_*")
    }
    assert {function.name: function.added + function.never_asked for function in functions} == {
        function.name: [] for function in functions
    }
    claims = computed.get("CLAIMS", {})
    assert list(claims) == claimed_sentences(source)
    assert [sentence for sentence, holds in claims.items() if not holds] == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_sentence_that_is_checked_stands_in_the_text_once(source: Path) -> None:
    sentences = claimed_sentences(source)
    assert sentences or source.stem not in WITH_CLAIMS
    prose = prose_of(source)
    counts = {sentence: prose.count(normalised(sentence)) for sentence in sentences}
    assert [sentence for sentence, count in counts.items() if count != 1] == []


@pytest.mark.parametrize(("page", "words", "notebook", "claim"), REPEATED)
def test_what_pages_repeat_of_a_notebook_is_a_sentence_that_it_checks(
    page: str, words: str, notebook: str, claim: str
) -> None:
    text = normalised((NOTEBOOKS.parent / page).read_text(encoding="utf-8"))
    assert text.count(words) == 1
    assert claim in map(normalised, claimed_sentences(NOTEBOOKS / f"{notebook}.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_shown_notebook_is_its_source_with_outputs(source: Path) -> None:
    shown = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in shown["cells"] if cell["cell_type"] == "code"]
    assert ["".join(cell["source"]).strip() for cell in cells] == code_of_source(source)
    words = [cell for cell in shown["cells"] if cell["cell_type"] == "markdown"]
    text = normalised(" ".join("".join(cell["source"]) for cell in words))
    assert text == prose_of(source)
    assert all(cell["execution_count"] for cell in cells)
    assert any(cell["outputs"] for cell in cells)
