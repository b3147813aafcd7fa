"""A problem of another distribution works everywhere, and no line of jettison knows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).parent / "toy"
# (bytes, ns) of each value.
VALUES = ((5, 70), (3, 40), (4, 45), (2, 10), (6, 60))

_COMMANDS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from jettison.cli.main import main
ended = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as stop:
            status = stop.code or 0
    ended.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(ended))
"""


def fastest_ns(memory_bytes: int) -> int:
    """Return the least time by trying every set of values; those that are not kept count twice."""
    places = range(len(VALUES))
    return min(
        sum(time_ns * (1 if place in kept else 2) for place, (_, time_ns) in enumerate(VALUES))
        for count in range(len(VALUES) + 1)
        for kept in combinations(places, count)
        if sum(VALUES[place][0] for place in kept) <= memory_bytes
    )


class Ended(NamedTuple):
    """Exit status of a command, and its output."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.status == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found


class Installed:
    """A folder that stands for a place where the toy is installed, beside the real jettison."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(TOY / "toy_column", folder / "site" / "toy_column")
        metadata = folder / "site" / "toy_column-1.0.dist-info"
        metadata.mkdir()
        shutil.copy(TOY / "entry_points.txt", metadata)
        (metadata / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: toy_column\nVersion: 1.0\n"
        )
        values = [{"size_bytes": size, "time_ns": time_ns} for size, time_ns in VALUES]
        shelf = {"format": "jettison", "kind": "toy-shelf", "version": 1, "name": "five"}
        (folder / "five.json").write_text(json.dumps({**shelf, "values": values}))

    def python(self, *words: str) -> str:
        paths = [str(self.folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, *commands: str) -> list[Ended]:
        """Run commands one after the other in one process: its start takes longest."""
        words = json.dumps([command.split() for command in commands])
        ended = json.loads(self.python("-c", _COMMANDS, words))
        return [Ended(*one) for one in ended]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


def test_python_solves_bounds_and_compares_it(installed: Installed) -> None:
    code = """
import jettison as jt
from toy_column.kind import Toy
shelf = jt.load("five.json")
for memory in range(0, 21, 4):
    problem = Toy(shelf, memory)
    result, verdict = jt.solve(problem), jt.bound(problem)
    rows = jt.compare(problem)
    print(memory, result.time_ns, result.status, verdict.bound.time_ns, *rows["time_ns"])
"""
    rows = [line.split() for line in installed.python("-c", code).splitlines()]
    assert [int(row[0]) for row in rows] == [0, 4, 8, 12, 16, 20]
    for memory, time, status, bound, exact, greedy in rows:
        best = fastest_ns(int(memory))
        assert int(time) == int(bound) == int(exact) == best <= int(greedy)
        assert status == "optimal"
    # The longest first is not the best everywhere.
    assert any(exact != greedy for *_, exact, greedy in rows)


def test_the_command_line_lists_shows_and_solves_it(installed: Installed) -> None:
    half = "toy five.json --memory 50%"
    listed, shown, found, judged, verified, table = installed.run(
        "list problems --json",
        "show five.json --json",
        f"solve {half} -o kept.json --plot kept.svg --json",
        f"bound {half} --schedule kept.json --json",
        "verify kept.json --instance five.json --memory 50%",
        "compare toy five.json --memory 20%,50%,80%",
    )
    problems = listed.json["problems"]
    assert problems[0]["name"] == "remat-chain"
    assert problems[-1] == {
        "name": "toy",
        "summary": "what to keep on a shelf",
        "methods": ["exact", "greedy"],
    }
    assert shown.json["kind"] == "toy-shelf"
    assert (shown.json["values"], shown.json["base_time_ns"]) == (5, 225)
    # Half of 20 bytes.
    assert (found.json["memory_bytes"], found.json["time_ns"]) == (10, fastest_ns(10))
    assert "<svg" in (installed.folder / "kept.svg").read_text()
    assert (judged.json["status"], judged.json["gap"]) == ("valid", 0)
    assert f"{fastest_ns(10)} ns, peak 10 bytes" in verified.out
    assert table.out.count("greedy") == 3
    assert "without recomputation" in table.out


def test_the_command_line_refuses_for_it_what_it_refuses_for_ours(installed: Installed) -> None:
    refused = installed.run(
        "solve toy five.json --memory 9B --bandwidth 1GB/s",
        "solve remat-graph five.json --memory 9B",
        "solve toy vgg16-b2-224-cpu --memory 9B",
        "solve toys five.json --memory 9B",
    )
    assert [one.status for one in refused] == [2] * 4
    expected = (
        "bandwidth: toy has no link; leave it out, or use remat-offload-chain or",
        "five is a toy-shelf; give a graph or a chain to remat-graph; a toy-shelf is for toy",
        "give a toy-shelf to toy; a chain is for remat-chain or remat-offload-chain",
        "write toy, or choose one of",
    )
    for one, message in zip(refused, expected, strict=True):
        assert message in one.err


def test_a_study_runs_it_in_processes_and_the_report_shows_it(installed: Installed) -> None:
    (installed.folder / "study.toml").write_text(
        '[[grid]]\nproblem = "toy"\ninstances = ["five.json"]\n'
        'memory = ["25%", "50%"]\ntime_limit_s = 10\n'
    )
    swept, reported = installed.run(
        "sweep study.toml -o results", "report results -o report.html --table rows.csv"
    )
    # Two memories, two methods.
    assert "4 done, 0 failed" in swept.out
    assert reported.status == 0, reported.err
    page = (installed.folder / "report.html").read_text(encoding="utf-8")
    assert "toy" in page
    assert "five" in page
    header, *rows = (installed.folder / "rows.csv").read_text().splitlines()
    cells = [dict(zip(header.split(","), row.split(","), strict=True)) for row in rows]
    assert len(cells) == 4
    assert {
        int(cell["memory_bytes"]): int(cell["time_ns"])
        for cell in cells
        if cell["method"] == "exact"
    } == {5: fastest_ns(5), 10: fastest_ns(10)}


def test_no_file_of_ours_names_the_toy() -> None:
    rooms = ("instances", "schedules", "formulations", "solvers", "studies", "cli", "certificates")
    for room in rooms:
        for path in (ROOT / room).rglob("*.py"):
            assert "toy" not in path.read_text(encoding="utf-8").lower().split(), path
