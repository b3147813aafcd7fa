"""Each notebook runs, gives the expected tables, and shows the outputs of its present source."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pandas as pd
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted(NOTEBOOKS.glob("*.py"))


def code_of_source(path: Path) -> list[str]:
    """The code cells of a source in the percent format."""
    cells = path.read_text(encoding="utf-8").split("\n# %%")[1:]
    code = [cell.strip() for cell in cells if not cell.startswith(" [markdown]")]
    # Jupyter's own commands are comments in the source.
    return [re.sub("^# %", "%", cell, flags=re.MULTILINE) for cell in code]


def test_there_is_a_notebook() -> None:
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_gives_its_expected_tables(source: Path) -> None:
    tables = runpy.run_path(str(source))["TABLES"]
    assert tables
    for name, table in tables.items():
        expected = pd.read_csv(NOTEBOOKS / "_expected" / f"{name}.csv")
        pd.testing.assert_frame_equal(table.reset_index(drop=True), expected)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_shown_notebook_is_its_source_with_outputs(source: Path) -> None:
    shown = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in shown["cells"] if cell["cell_type"] == "code"]
    assert ["".join(cell["source"]).strip() for cell in cells] == code_of_source(source)
    assert all(cell["execution_count"] for cell in cells)
    assert any(cell["outputs"] for cell in cells)
