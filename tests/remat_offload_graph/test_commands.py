"""Commands on graphs with a link: solved, drawn, compared, verified, exported; and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jettison as jt
from jettison import load_schedule, save, save_schedule
from jettison.cli.main import main
from jettison.remat_graph import Node
from jettison.remat_offload_graph import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.residence_chart import residence_spans
from tests.tiny import DIAMOND, UNEVEN

SIZES = ["--memory", "11B", "--bandwidth", "1GB/s"]


@pytest.fixture
def graph(tmp_path: Path) -> str:
    save(DIAMOND, tmp_path / "graph.json")
    return str(tmp_path / "graph.json")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def test_a_graph_is_solved_drawn_and_verified(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule, memory, chart = (tmp_path / name for name in ("s.json", "m.png", "c.png"))
    words = ["-o", str(schedule), "--plot", str(memory), "--grid", str(chart), "--json"]
    assert run("solve", "remat-offload-graph", graph, *SIZES, *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["transfers"]) == ("optimal", "at-once")
    base_ns = DIAMOND.base_time_ns
    assert found["time_ns"] == base_ns + found["recompute_ns"] + found["stall_ns"]
    assert 0 <= found["idle_to_host_ns"] <= found["time_ns"]
    for picture in (memory, chart):
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert run("bound", "remat-offload-graph", graph, *SIZES, "--schedule", str(schedule)) == 0
    capsys.readouterr()
    assert run("verify", str(schedule), "--instance", graph, *SIZES) == 0
    assert f"{found['time_ns']} ns" in capsys.readouterr().out


def test_all_methods_are_compared_and_listed(
    graph: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", "remat-offload-graph", graph, *SIZES, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    times = {row["method"]: row["time_ns"] for row in rows}
    known = [time_ns for time_ns in times.values() if time_ns is not None]
    assert times["exact"] == times["anneal"] == min(known)
    assert run("list", "methods", "remat-offload-graph") == 0
    assert "moment-bound" in capsys.readouterr().out


def test_without_a_bandwidth_it_is_remat_graph(
    graph: str, capsys: pytest.CaptureFixture[str]
) -> None:
    times = []
    # The exact method of remat-graph looks at staged schedules, as no-transfer does.
    for problem, method in (("remat-graph", "exact"), ("remat-offload-graph", "no-transfer")):
        words = ["--memory", "13B", "--method", method, "--json"]
        assert run("solve", problem, graph, *words) == 0
        times.append(json.loads(capsys.readouterr().out)["time_ns"])
    assert times[0] == times[1]


@pytest.mark.parametrize(("formulation", "name"), [("first-starts", "m.lp"), ("poet", "m.mps")])
def test_both_formulations_are_written(
    graph: str, tmp_path: Path, formulation: str, name: str
) -> None:
    output = tmp_path / name
    words = ["--formulation", formulation, "-o", str(output)]
    assert run("export", "remat-offload-graph", graph, *SIZES, *words) == 0
    text = output.read_text()
    assert "window_0" in text if formulation == "first-starts" else "R_0_0" in text


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--memory", "11B", "--bandwidth", "0B/s"], "bandwidth"),
        (["--memory", "11B", "--bandwidth", "fast"], "bandwidth"),
        (["--memory", "alpha=0.5", "--bandwidth", "1GB/s"], "memory"),
        ([*SIZES, "--method", "rotor"], "method"),
        ([*SIZES, "--transfers", "fluid"], "transfers"),
    ],
)
def test_what_cannot_be_read_is_one_error(
    graph: str, words: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("solve", "remat-offload-graph", graph, *words) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert part in errors[0]


def test_a_chain_and_a_schedule_of_other_nodes_are_refused(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(UNEVEN, tmp_path / "chain.json")
    assert run("solve", "remat-offload-graph", str(tmp_path / "chain.json"), *SIZES) == 2
    assert "graph" in capsys.readouterr().err
    schedule = tmp_path / "s.json"
    assert run("solve", "remat-offload-graph", graph, *SIZES, "-o", str(schedule)) == 0
    document = json.loads(schedule.read_text())
    document["operations"][0][1] = "nowhere"
    schedule.write_text(json.dumps(document))
    capsys.readouterr()
    words = ["bound", "remat-offload-graph", graph, *SIZES, "--schedule", str(schedule)]
    assert run(*words) == 2
    assert "operations[0][1]: 'nowhere' is not a node of diamond" in capsys.readouterr().err


def test_a_schedule_is_read_as_it_was_written_and_marks_survive(tmp_path: Path) -> None:
    nodes = (
        *DIAMOND.nodes[:-1],
        Node(
            name="last",
            duration_ns=1,
            output_bytes=1,
            inputs=("top", "bottom"),
            offload=False,
        ),
    )
    graph = jt.Graph("marked", nodes)
    save(graph, tmp_path / "graph.json")
    assert jt.load(tmp_path / "graph.json") == graph
    assert graph.sha256 != DIAMOND.sha256
    problem = jt.RematOffloadGraph(graph, 11, "1GB/s")
    result = jt.solve(problem, method="offload-all")
    assert isinstance(result.schedule, OffloadGraphSchedule)
    save_schedule(result.schedule, graph, tmp_path / "s.json")
    assert load_schedule(tmp_path / "s.json", graph) == result.schedule


def test_the_chart_has_every_run_and_every_copy() -> None:
    problem = jt.RematOffloadGraph(DIAMOND, 11, "1GB/s")
    schedule = jt.solve(problem, method="offload-all").schedule
    assert isinstance(schedule, OffloadGraphSchedule)
    replay = schedule.replay(DIAMOND, problem.link, 11)
    spans = residence_spans(DIAMOND, schedule, replay)
    copies = len(spans["to the host"]) + len(spans["from the host"])
    assert (len(spans["computation"]), copies) == (len(DIAMOND), len(replay.transfers))
    assert all(start <= end <= replay.time_ns for _, start, end in spans["on the device"])
