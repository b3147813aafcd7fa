"""A problem of another distribution works everywhere, and no line of jettison knows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).parent / "toy"
# (bytes, ns) of each value.
VALUES = ((5, 70), (3, 40), (4, 45), (2, 10), (6, 60))


def fastest_ns(memory_bytes: int) -> int:
    """Return the least time by trying every set of values; those that are not kept count twice."""
    places = range(len(VALUES))
    return min(
        sum(time_ns * (1 if place in kept else 2) for place, (_, time_ns) in enumerate(VALUES))
        for count in range(len(VALUES) + 1)
        for kept in combinations(places, count)
        if sum(VALUES[place][0] for place in kept) <= memory_bytes
    )


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

    def python(self, *words: str, status: int = 0) -> str:
        paths = [str(self.folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    def run(self, *words: str, status: int = 0) -> str:
        program = "from jettison.cli.main import main; main()"
        return self.python("-c", program, *words, status=status)

    def json(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*words, "--json"))
        return found


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
    listed = installed.json("list", "problems")["problems"]
    assert listed[0]["name"] == "remat-chain"
    assert listed[-1] == {"name": "toy", "methods": ["exact", "greedy"]}
    shown = installed.json("show", "five.json")
    assert (shown["kind"], shown["values"], shown["base_time_ns"]) == ("toy-shelf", 5, 225)
    words = ("solve", "toy", "five.json", "--memory", "50%")
    # Half of 20 bytes.
    found = installed.json(*words, "-o", "kept.json", "--plot", "kept.svg")
    assert (found["memory_bytes"], found["time_ns"]) == (10, fastest_ns(10))
    assert "<svg" in (installed.folder / "kept.svg").read_text()
    judged = installed.json(
        "bound", "toy", "five.json", "--memory", "50%", "--schedule", "kept.json"
    )
    assert (judged["status"], judged["gap"]) == ("valid", 0)
    verified = installed.run("verify", "kept.json", "--instance", "five.json", "--memory", "50%")
    assert f"{fastest_ns(10)} ns, peak 10 bytes" in verified
    table = installed.run("compare", "toy", "five.json", "--memory", "20%,50%,80%")
    assert table.count("greedy") == 3
    assert "without recomputation" in table


def test_the_command_line_refuses_for_it_what_it_refuses_for_ours(installed: Installed) -> None:
    refused = installed.run(
        "solve", "toy", "five.json", "--memory", "9B", "--bandwidth", "1GB/s", status=2
    )
    assert "bandwidth: toy has no link; leave it out, or use remat-offload-chain or" in refused
    refused = installed.run("solve", "remat-graph", "five.json", "--memory", "9B", status=2)
    assert (
        "five is a toy-shelf; give a graph or a chain to remat-graph; a toy-shelf is for toy"
        in (refused)
    )
    refused = installed.run("solve", "toy", "vgg16-b2-224-cpu", "--memory", "9B", status=2)
    assert "give a toy-shelf to toy; a chain is for remat-chain or remat-offload-chain" in refused
    assert "write toy, or choose one of" in installed.run(
        "solve", "toys", "five.json", "--memory", "9B", status=2
    )


def test_a_study_runs_it_in_processes_and_the_report_shows_it(installed: Installed) -> None:
    (installed.folder / "study.toml").write_text(
        '[[grid]]\nproblem = "toy"\ninstances = ["five.json"]\n'
        'memory = ["25%", "50%"]\ntime_limit_s = 10\n'
    )
    said = installed.run("sweep", "study.toml", "-o", "results")
    # Two memories, two methods.
    assert "4 done, 0 failed" in said
    installed.run("report", "results", "-o", "report.html", "--table", "rows.csv")
    page = (installed.folder / "report.html").read_text(encoding="utf-8")
    assert "toy five" in page or ("toy" in page and "five" in page)
    rows = (installed.folder / "rows.csv").read_text().splitlines()
    assert len(rows) == 5
    names = rows[0].split(",")
    exact = [dict(zip(names, row.split(","), strict=True)) for row in rows[1:] if ",exact," in row]
    assert {int(row["memory_bytes"]): int(row["time_ns"]) for row in exact} == {
        5: fastest_ns(5),
        10: fastest_ns(10),
    }


def test_no_file_of_ours_names_the_toy() -> None:
    rooms = ("instances", "schedules", "formulations", "solvers", "studies", "cli", "certificates")
    for room in rooms:
        for path in (ROOT / room).rglob("*.py"):
            assert "toy" not in path.read_text(encoding="utf-8").lower().split(), path
