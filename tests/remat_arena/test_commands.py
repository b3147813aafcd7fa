"""Commands on arenas: a schedule is solved, its buffers are listed, and its addresses verified."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from jettison import save
from jettison.cli.main import main
from tests.tiny import GRAPHS

GRAPH = next(graph for graph in GRAPHS if graph.name == "diamond")


@pytest.fixture
def graph(tmp_path: Path) -> str:
    save(GRAPH, tmp_path / "graph.json")
    return str(tmp_path / "graph.json")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def test_an_arena_is_solved_listed_and_verified(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule, table = tmp_path / "placed.json", tmp_path / "buffers.csv"
    words = ["--memory", "100%", "-o", str(schedule), "--table", str(table)]
    assert run("solve", "remat-arena", graph, *words) == 0
    out = capsys.readouterr().out
    assert "the addresses of the schedule" in out
    assert "PyTorch's caching allocator" in out
    rows = pd.read_csv(table)
    peak_bytes = int((rows["offset_bytes"] + rows["size_bytes"]).max())
    assert run("verify", str(schedule), "--instance", graph, "--memory", "100%") == 0
    line = capsys.readouterr().out
    assert f"peak {peak_bytes} bytes of an arena" in line
    assert "0 of fragmentation" in line


def test_addresses_that_were_changed_are_refused(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = tmp_path / "placed.json"
    assert run("solve", "remat-arena", graph, "--memory", "100%", "-o", str(schedule)) == 0
    document = json.loads(schedule.read_text())
    document["value_offsets"] = [0] * len(document["value_offsets"])
    schedule.write_text(json.dumps(document))
    capsys.readouterr()
    assert run("verify", str(schedule), "--instance", graph) == 2
    assert "address taken" in capsys.readouterr().err
