"""training-chain as a user types it: solve with all outputs, bound, verify, compare and export."""

from __future__ import annotations

import json

import pytest

from jettison import save
from jettison.solvers.core.registry import methods_of
from tests.cli.terminal import Terminal
from tests.tiny import TRAINED_LAYERS

CHAIN = TRAINED_LAYERS
ARGUMENTS = "training-chain steps.json --memory 60% --bandwidth 1GB/s"
# Searches use the time that they have where no bound is met.
SOON = "--gap 0.9"


@pytest.fixture
def steps(terminal: Terminal) -> Terminal:
    save(CHAIN, terminal.folder / "steps.json")
    return terminal


def test_a_step_is_solved_drawn_tabulated_saved_and_judged(steps: Terminal) -> None:
    outputs = "-o mine.json --plot mine.png --table mine.csv"
    found = steps.json(f"solve {ARGUMENTS} {SOON} {outputs}")
    assert (found["problem"], found["instance"]) == ("training-chain", CHAIN.name)
    assert found["valid_for"] == "all schedules"
    assert found["lower_bound_ns"] <= found["time_ns"]
    document = json.loads((steps.folder / "mine.json").read_text())
    assert (document["kind"], document["period_ns"]) == ("training-schedule", found["time_ns"])
    assert (steps.folder / "mine.png").stat().st_size > 0
    # A line for each stage, below the names of the columns.
    lines = (steps.folder / "mine.csv").read_text().splitlines()
    assert len(lines) == len(CHAIN) + 1
    out = steps.output("verify mine.json --instance steps.json --bandwidth 1GB/s")
    assert "a valid schedule" in out


def test_a_host_without_memory_leaves_only_plans_that_move_nothing(steps: Terminal) -> None:
    line = "solve training-chain steps.json --memory 100% --bandwidth 1GB/s --gap 0.9"
    found = steps.json(f"{line} --host-memory 0B -o still.json")
    assert found["time_ns"] >= found["lower_bound_ns"]
    events = json.loads((steps.folder / "still.json").read_text())["events"]
    assert not any("offload" in str(event) or "prefetch" in str(event) for event in events)
    status, _, error = steps.run(f"{line} --host-memory 50%")
    assert status == 2
    assert "host_memory" in error


def test_all_methods_stand_in_one_table(steps: Terminal) -> None:
    found = steps.json(f"compare {ARGUMENTS} {SOON} --time-limit 3")["results"]
    assert [item["method"] for item in found] == [
        item.name for item in methods_of("training-chain")
    ]
    times = {item["method"]: item["time_ns"] for item in found if item["time_ns"] is not None}
    assert times["local-search"] == min(times.values())


def test_the_cycle_bound_is_written_to_a_file(steps: Terminal) -> None:
    steps.output(f"export {ARGUMENTS} -o model.lp")
    text = (steps.folder / "model.lp").read_text()
    # Rows of the model: the memory at the first cut, the update of the last stage.
    assert "memory_0" in text
    assert "once_4" in text


def test_in_too_little_memory_the_operation_that_needs_most_is_named(steps: Terminal) -> None:
    line = "solve training-chain steps.json --memory 10B --bandwidth 1GB/s"
    status, out, _ = steps.run(line)
    assert status == 3
    assert "infeasible" in out
