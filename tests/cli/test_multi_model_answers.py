"""Answers of solve, bound and compare for several models: keys, tables, pictures, exit status."""

from __future__ import annotations

import json

import pytest

from jettison import save, save_schedule
from jettison.solvers.core.registry import methods_of
from tests.cli.terminal import Terminal
from tests.multi_model.unit_text import twins
from tests.tiny_models import mirrored_models

# Four layers of 2 + 3 ns and 10 bytes; b2 needs 42 bytes, the other operators 12.
MODELS = mirrored_models(peaks={"b2": 42})
BASE_NS = 2 * 20
ARGUMENTS = "multi-model models.json"
# z0 of each comes back only after b2, and b3 waits 6 ns for it.
STALLING = twins("F2.0 O2.0 F2.1 F2.2 F2.3 B1.0 B1.1 B1.2 P1.0 B1.3")


@pytest.fixture
def models(terminal: Terminal) -> Terminal:
    save(MODELS, terminal.folder / "models.json")
    save_schedule(STALLING, MODELS, terminal.folder / "mine.json")
    return terminal


def test_solve_says_what_goes_into_recomputation_and_stalls(models: Terminal) -> None:
    found = models.json(f"solve {ARGUMENTS} --memory 62B")
    assert (found["problem"], found["instance"]) == ("multi-model", "mirrored")
    assert (found["base_time_ns"], found["bandwidth_bytes_per_s"]) == (BASE_NS, 10**9)
    assert found["time_ns"] == BASE_NS + found["recompute_ns"] + found["stall_ns"]
    assert found["peak_bytes"] <= 62


def test_a_schedule_is_judged_with_its_stalls(models: Terminal) -> None:
    words = f"{ARGUMENTS} --memory 74B --schedule mine.json"
    found = models.json(f"bound {words}")
    assert (found["status"], found["time_ns"], found["peak_bytes"]) == ("valid", 52, 74)
    assert (found["recompute_ns"], found["stall_ns"]) == (0, 12)
    out = models.output(f"bound {words}")
    assert "52 ns (+30.00 % over no recomputation or waiting)" in out
    assert [line.split() for line in out.splitlines() if line.startswith("stall")] == [
        ["stall", "12", "ns"]
    ]


def test_a_schedule_that_does_not_fit_is_refused_by_operation(models: Terminal) -> None:
    code, out, _ = models.run(f"bound {ARGUMENTS} --memory 73B --schedule mine.json")
    assert code == 2
    assert "out of memory: b2, 1 bytes over the limit" in out


def test_what_is_solved_can_be_written_and_judged(models: Terminal) -> None:
    solved = models.json(f"solve {ARGUMENTS} --memory 74B --output solved.json")
    judged = models.json(f"bound {ARGUMENTS} --memory 74B --schedule solved.json")
    for key in ("time_ns", "peak_bytes", "recompute_ns", "stall_ns"):
        assert judged[key] == solved[key]


def test_without_memory_for_one_operator_it_is_named_with_what_would_do(models: Terminal) -> None:
    code, out, _ = models.run(f"solve {ARGUMENTS} --memory 41B")
    assert code == 3
    assert "42 bytes" in out
    assert ["needed", "by", "b2"] in [line.split() for line in out.splitlines()]
    _, out, _ = models.run(f"solve {ARGUMENTS} --memory 41B --json")
    found = json.loads(out)
    assert (found["status"], found["least_memory_bytes"], found["needed_by"]) == (
        "infeasible",
        42,
        "b2",
    )
    assert (found["recompute_ns"], found["stall_ns"]) == (None, None)


def test_every_method_is_compared(models: Terminal) -> None:
    found = models.json(f"compare {ARGUMENTS} --memory 74B")["results"]
    assert {item["method"] for item in found} == {item.name for item in methods_of("multi-model")}
    for item in found:
        if item["time_ns"] is not None:
            assert item["time_ns"] == item["stall_ns"] + item["recompute_ns"] + BASE_NS


def test_the_picture_of_an_answer_and_of_a_schedule_is_written(models: Terminal) -> None:
    memory = "--memory 74B"
    code, _, _ = models.run(f"solve {ARGUMENTS} {memory} --plot solved.png")
    assert code == 0
    words = "--schedule mine.json --plot mine.png"
    code, _, _ = models.run(f"bound {ARGUMENTS} {memory} {words}")
    assert code == 0
    for name in ("solved.png", "mine.png"):
        assert (models.folder / name).read_bytes().startswith(b"\x89PNG")
