"""The command: what it writes, and its one clear error where it cannot."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from jettison.studies.result_folder import ResultFolder
from tests.cli.terminal import CommandLine
from tests.studies.report.conftest import TinyResults


def test_one_command_writes_the_page_and_the_table(
    tiny_results: TinyResults, tmp_path: Path, typed: CommandLine
) -> None:
    page, table = tmp_path / "r.html", tmp_path / "r.csv"
    code, out, err = typed.run(
        f"report {tiny_results.path} -o r.html --table r.csv --title 'a & b'"
    )
    assert (code, out) == (0, "")
    assert err.startswith("left out: ")
    assert "<h1>a &amp; b</h1>" in page.read_text(encoding="utf-8")
    assert len(pd.read_csv(table)) == 13


def test_a_page_without_a_title_has_that_of_its_study_or_folder(
    tiny_results: TinyResults, tmp_path: Path, typed: CommandLine
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    shutil.rmtree(folder / "studies", ignore_errors=True)
    typed.output(f"report {folder} -o r.html")
    assert "<h1>copy</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (folder / "studies").mkdir()
    (folder / "studies" / "s.toml").write_text('name = "<named>"', encoding="utf-8")
    typed.output(f"report {folder} -o r.html")
    assert "<h1>&lt;named&gt;</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (folder / "studies" / "s.toml").write_text("name = ", encoding="utf-8")
    typed.error(f"report {folder} -o r.html")


def test_a_study_without_a_name_is_called_as_its_file_whatever_its_edits(
    tiny_results: TinyResults, tmp_path: Path, typed: CommandLine
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    shutil.rmtree(folder / "studies", ignore_errors=True)
    (folder / "studies").mkdir()
    for text in ("seeds = 1", "seeds = 2"):
        (tmp_path / "of-chains.toml").write_text(text, encoding="utf-8")
        ResultFolder(folder).keep_study(tmp_path / "of-chains.toml")
    typed.output(f"report {folder} -o r.html")
    assert "<h1>of-chains</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_nothing_asked_for_is_an_error(tiny_results: TinyResults, typed: CommandLine) -> None:
    assert "-o report.html" in typed.error(f"report {tiny_results.path}")


@pytest.mark.parametrize(("option", "name"), [("-o", "r.html"), ("--table", "r.csv")])
def test_a_folder_that_is_missing_or_empty_is_one_error(
    tmp_path: Path, typed: CommandLine, option: str, name: str
) -> None:
    target = tmp_path / name
    err = typed.error(f"report {tmp_path}/nowhere {option} {target}")
    assert f"error: {tmp_path / 'nowhere'}: no results" in err
    (tmp_path / "empty" / "jobs").mkdir(parents=True)
    assert "no results yet" in typed.error(f"report {tmp_path}/empty {option} {target}")
    assert not target.exists()


@pytest.mark.parametrize(("option", "name"), [("-o", "r.html"), ("--table", "r.csv")])
def test_an_output_that_cannot_be_written_is_one_error(
    tiny_results: TinyResults,
    tmp_path: Path,
    typed: CommandLine,
    option: str,
    name: str,
) -> None:
    for target in ("missing", "."):
        code, _, err = typed.run(f"report {tiny_results.path} {option} {tmp_path}/{target}/{name}")
        assert code == 2
        *others, last = err.splitlines()
        assert last.startswith("error: ")
        assert all(line.startswith("left out: ") for line in others)
        (tmp_path / name).mkdir(exist_ok=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_page_under_the_name_of_a_table_is_refused(
    tiny_results: TinyResults, tmp_path: Path, typed: CommandLine
) -> None:
    err = typed.error(f"report {tiny_results.path} -o r.csv")
    assert "the page is HTML; end the name with .html, or write --table" in err
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_another_kind_is_an_error(
    tiny_results: TinyResults, tmp_path: Path, typed: CommandLine
) -> None:
    assert ".csv, .parquet or .duckdb" in typed.error(f"report {tiny_results.path} --table r.xlsx")


def test_without_plotly_the_error_says_how_to_install_it(
    tiny_results: TinyResults,
    tmp_path: Path,
    typed: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    assert "pip install 'jettison[report]'" in typed.error(f"report {tiny_results.path} -o r.html")
    assert not (tmp_path / "r.html").exists()


def test_a_schedule_that_was_changed_is_left_out_and_named(
    tiny_results: TinyResults, tmp_path: Path, typed: CommandLine
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    for path in (folder / "schedules").glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["kind"] == "chain-schedule":
            document["operations"].pop()
            path.write_text(json.dumps(document), encoding="utf-8")
    code, _, said = typed.run(f"report {folder} -o r.html --timelines 100")
    assert code == 0
    assert "breaks a rule" in said
    assert "left out" in said


def test_a_record_of_another_form_is_named_and_the_rest_is_shown(
    tiny_results: TinyResults, tmp_path: Path, typed: CommandLine
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    path = folder / "jobs" / f"{tiny_results.failed_key}.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["job"]["memory_bytes"]
    path.write_text(json.dumps(record), encoding="utf-8")
    table = tmp_path / "r.csv"
    code, _, err = typed.run(f"report {folder} -o r.html --table r.csv")
    assert code == 0
    assert f"left out: {path}: job: 'memory_bytes'" in err
    assert tiny_results.failed_key not in table.read_text(encoding="utf-8")
    assert str(path) in (tmp_path / "r.html").read_text(encoding="utf-8")
