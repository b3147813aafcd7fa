"""The command: what it writes, and its one clear error where it cannot."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from jettison.cli.main import main
from jettison.studies.result_folder import ResultFolder
from tests.studies.report.conftest import TinyResults


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["report", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_one_command_writes_the_page_and_the_table(
    tiny_results: TinyResults, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, table = tmp_path / "r.html", tmp_path / "r.csv"
    assert run(tiny_results.path, "-o", page, "--table", table, "--title", "a & b") == 0
    assert "<h1>a &amp; b</h1>" in page.read_text(encoding="utf-8")
    assert len(pd.read_csv(table)) == 13
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("left out: ")


def test_a_page_without_a_title_has_that_of_its_study_or_folder(
    tiny_results: TinyResults, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    shutil.rmtree(folder / "studies", ignore_errors=True)
    assert run(folder, "-o", tmp_path / "r.html") == 0
    assert "<h1>copy</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (folder / "studies").mkdir()
    (folder / "studies" / "s.toml").write_text('name = "<named>"', encoding="utf-8")
    assert run(folder, "-o", tmp_path / "r.html") == 0
    assert "<h1>&lt;named&gt;</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (folder / "studies" / "s.toml").write_text("name = ", encoding="utf-8")
    assert run(folder, "-o", tmp_path / "r.html") == 2


def test_a_study_without_a_name_is_called_as_its_file_whatever_its_edits(
    tiny_results: TinyResults, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    shutil.rmtree(folder / "studies", ignore_errors=True)
    (folder / "studies").mkdir()
    for text in ("seeds = 1", "seeds = 2"):
        (tmp_path / "of-chains.toml").write_text(text, encoding="utf-8")
        ResultFolder(folder).keep_study(tmp_path / "of-chains.toml")
    assert run(folder, "-o", tmp_path / "r.html") == 0
    assert "<h1>of-chains</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_nothing_asked_for_is_an_error(
    tiny_results: TinyResults, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tiny_results.path) == 2
    assert "-o report.html" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "name"), [("-o", "r.html"), ("--table", "r.csv")])
def test_a_folder_that_is_missing_or_empty_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, name: str
) -> None:
    target = tmp_path / name
    assert run(tmp_path / "nowhere", option, target) == 2
    assert f"error: {tmp_path / 'nowhere'}: no results" in capsys.readouterr().err
    (tmp_path / "empty" / "jobs").mkdir(parents=True)
    assert run(tmp_path / "empty", option, target) == 2
    assert "no results yet" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize(("option", "name"), [("-o", "r.html"), ("--table", "r.csv")])
def test_an_output_that_cannot_be_written_is_one_error(
    tiny_results: TinyResults,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    option: str,
    name: str,
) -> None:
    assert run(tiny_results.path, option, tmp_path / "missing" / name) == 2
    (tmp_path / name).mkdir()
    assert run(tiny_results.path, option, tmp_path / name) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line for line in errors if line.startswith("error: ")] == [
        line for line in errors if not line.startswith("left out: ")
    ]
    assert len([line for line in errors if line.startswith("error: ")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_page_under_the_name_of_a_table_is_refused(
    tiny_results: TinyResults, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tiny_results.path, "-o", tmp_path / "r.csv") == 2
    assert "the page is HTML; end the name with .html, or write --table" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_another_kind_is_an_error(
    tiny_results: TinyResults, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tiny_results.path, "--table", tmp_path / "r.xlsx") == 2
    assert ".csv, .parquet or .duckdb" in capsys.readouterr().err


def test_without_plotly_the_error_says_how_to_install_it(
    tiny_results: TinyResults,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    assert run(tiny_results.path, "-o", tmp_path / "r.html") == 2
    assert "pip install 'jettison[report]'" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_a_schedule_that_was_changed_is_left_out_and_named(
    tiny_results: TinyResults, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    for path in (folder / "schedules").glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["kind"] == "chain-schedule":
            document["operations"].pop()
            path.write_text(json.dumps(document), encoding="utf-8")
    assert run(folder, "-o", tmp_path / "r.html", "--timelines", 100) == 0
    said = capsys.readouterr().err
    assert "breaks a rule" in said
    assert "left out" in said


def test_a_record_of_another_form_is_named_and_the_rest_is_shown(
    tiny_results: TinyResults, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(tiny_results.path, tmp_path / "copy")
    path = folder / "jobs" / f"{tiny_results.failed_key}.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["job"]["memory_bytes"]
    path.write_text(json.dumps(record), encoding="utf-8")
    table = tmp_path / "r.csv"
    assert run(folder, "-o", tmp_path / "r.html", "--table", table) == 0
    assert f"left out: {path}: job: 'memory_bytes'" in capsys.readouterr().err
    assert tiny_results.failed_key not in table.read_text(encoding="utf-8")
    assert str(path) in (tmp_path / "r.html").read_text(encoding="utf-8")
