"""Pages with recorded figures: each is what its command writes from the record."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

pytestmark = pytest.mark.torch

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_real_models_is_written_from_its_rows(tmp_path: Path) -> None:
    from benchmarks.real_models.page import write_page
    from benchmarks.real_models.table import PAGE, ROWS
    from benchmarks.real_models.table_row import read_rows

    write_page(tmp_path / "page.md", read_rows(ROWS))
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    from benchmarks.real_models.table import ROWS
    from benchmarks.real_models.table_row import read_rows, write_rows

    rows = read_rows(ROWS)
    write_rows(tmp_path / "rows.csv", rows)
    assert read_rows(tmp_path / "rows.csv") == rows != {}


def test_the_table_of_budgets_is_written_from_its_record(tmp_path: Path) -> None:
    from benchmarks.compiled_budgets_page import BEGIN, END, PAGE, RECORD, write_table

    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    copied = tmp_path / "page.md"
    # Whatever stands between the marks is replaced.
    copied.write_text(f"{before}{BEGIN}\nold\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    record = shutil.copy(RECORD, tmp_path / "record.csv")
    write_table(copied, Path(record))
    assert copied.read_text(encoding="utf-8") == text


def test_the_recorded_output_of_a_profile_is_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from docs.site_pages import command_outputs

    monkeypatch.chdir(tmp_path)
    printed = tuple(command_outputs.shown(line) for line in command_outputs.PROFILED)
    assert printed == command_outputs.RECORDED["profile"]
