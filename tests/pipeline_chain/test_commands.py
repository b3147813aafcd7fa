"""Commands on pipelines: a schedule is solved, drawn, listed by device, and verified."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from jettison import save
from jettison.cli.main import main
from jettison.instances.remat_chain.chain import Chain
from tests.drawing.chains import stage_of
from tests.tiny import UNEVEN

SIZES = ["--devices", "2", "--microbatches", "3", "--memory", "60B"]


@pytest.fixture
def chain(tmp_path: Path) -> str:
    save(UNEVEN, tmp_path / "chain.json")
    return str(tmp_path / "chain.json")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def test_a_pipeline_is_solved_drawn_listed_and_verified(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule, picture, table = (tmp_path / name for name in ("s.json", "p.png", "t.csv"))
    words = ["-o", str(schedule), "--plot", str(picture), "--table", str(table), "--json"]
    assert run("solve", "pipeline-chain", chain, *SIZES, *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == "optimal-persistent"
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = pd.read_csv(table)
    assert rows["device"].tolist() == [1, 2]
    assert rows["peak_bytes"].max() == found["peak_bytes"]
    assert run("verify", str(schedule), "--instance", chain) == 0
    assert f"{found['time_ns']} ns" in capsys.readouterr().out
    assert run("verify", str(schedule), "--instance", chain, *SIZES) == 0
    assert f"{found['time_ns']} ns" in capsys.readouterr().out
    assert run("bound", "pipeline-chain", chain, *SIZES, "--schedule", str(schedule)) == 0


def test_a_pipeline_is_verified_as_it_was_made(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = tmp_path / "s.json"
    words = ["--bandwidth", "3GB/s", "--weight-copies", "4", "-o", str(schedule)]
    assert run("solve", "pipeline-chain", chain, *SIZES, *words) == 0
    assert run("verify", str(schedule), "--instance", chain) == 0
    capsys.readouterr()
    for option, value in (("devices", "3"), ("microbatches", "4"), ("weight-copies", "2")):
        words = ["--instance", chain, f"--{option}", value]
        assert run("verify", str(schedule), *words) == 2
        assert f"and --{option} is {value} " in capsys.readouterr().err
    document = json.loads(schedule.read_text())
    document["claim"]["microbatches"] = 5
    schedule.write_text(json.dumps(document))
    assert run("verify", str(schedule), "--instance", chain) != 0
    assert "claim.time_ns" in capsys.readouterr().err


def test_a_share_of_no_peak_is_refused(chain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("solve", "pipeline-chain", chain, *SIZES, "--memory", "60%") == 2
    assert "follows from the cuts" in capsys.readouterr().err


def test_a_missing_number_is_named(chain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("solve", "pipeline-chain", chain, "--memory", "60B", "--devices", "2") == 2
    assert "microbatches" in capsys.readouterr().err
    assert run("solve", "remat-chain", chain, "--memory", "60B", "--devices", "2") == 2
    assert "leave it out, or use pipeline-chain" in capsys.readouterr().err


def test_interleaved_devices_are_printed_and_verified_as_they_were_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, schedule, picture = (tmp_path / name for name in ("c.json", "s.json", "p.png"))
    stages = [stage_of(f"s{k}", 1, 1, 1, 2) for k in range(7)]
    save(Chain("even", 1, (*stages, stage_of("loss", 1, 1, 0, 1))), path)
    words = [str(path), "--devices", "2", "--microbatches", "4", "--memory", "100B", "--chunks"]
    files = ["-o", str(schedule), "--plot", str(picture)]
    assert run("solve", "pipeline-chain", *words, "2", *files) == 0
    printed = capsys.readouterr().out
    assert "1-2 5-6" in printed
    assert re.search(r"\bflight\b", printed)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(schedule.read_text())["chunks"] == 2
    assert run("verify", str(schedule), "--instance", str(path)) == 0
    capsys.readouterr()
    assert run("verify", str(schedule), "--instance", str(path), "--chunks", "3") == 2
    assert "--chunks is 3" in capsys.readouterr().err
    assert run("solve", "pipeline-chain", *words, "9") == 2
    assert "chunks: 9; write 1 to 4" in capsys.readouterr().err
    assert run("solve", "remat-chain", str(path), "--memory", "100B", "--chunks", "2") == 2
    assert "has no parts of devices" in capsys.readouterr().err
