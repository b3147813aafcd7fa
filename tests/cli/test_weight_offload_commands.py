"""weight-offload as a user types it: output, pictures, exit status, and what bad input says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jettison import Chain, Link, save, save_schedule
from jettison.instances.weight_offload.cycle import WeightCycle
from jettison.remat_chain import Stage
from jettison.solvers.core.registry import methods_of
from jettison.weight_offload import CyclicSchedule
from tests.cli.terminal import Terminal
from tests.weight_offload.cyclic_events import cyclic

METHODS = {method.name for method in methods_of("weight-offload")}

# Six equal layers of 4 + 8 ns, 10 bytes saved, 50 bytes of weights.
LAYERS = Chain(
    "layers",
    0,
    tuple(
        Stage(
            name=f"layer{k}",
            forward_ns=4,
            backward_ns=8,
            output_bytes=0,
            saved_bytes=10,
            weight_bytes=50,
        )
        for k in range(1, 7)
    ),
)
BASE_NS = 6 * (4 + 8)
# B 6 has all that is saved, all weights and one gradient of weights beside it.
ALL_WEIGHTS_BYTES = 6 * 10 + 6 * 50 + 50
# The same with the weights of one layer.
LEAST_BYTES = 6 * 10 + 50 + 50
# A byte per nanosecond.
LINK = "--bandwidth 1GB/s"
ARGUMENTS = f"weight-offload layers.json {LINK}"
# Searches use the time that they have where no bound is met.
SOON = "--gap 0.9"

KEEP_ALL = "B6@0, B5@8, B4@16, B3@24, B2@32, B1@40, F1@48, F2@52, F3@56, F4@60, F5@64, F6@68"


@pytest.fixture
def weights(terminal: Terminal) -> Terminal:
    save(LAYERS, terminal.folder / "layers.json")
    return terminal


def saved(terminal: Terminal, schedule: CyclicSchedule) -> None:
    save_schedule(schedule, LAYERS, terminal.folder / "mine.json")


def test_solve_finds_a_schedule_with_a_bound(weights: Terminal) -> None:
    found = weights.json(f"solve {ARGUMENTS} --memory 60% {SOON}")
    assert (found["problem"], found["instance"]) == ("weight-offload", "layers")
    assert found["memory_bytes"] == ALL_WEIGHTS_BYTES * 60 // 100
    assert (found["bandwidth_bytes_per_s"], found["transfers"]) == (10**9, None)
    assert found["base_time_ns"] == BASE_NS
    assert BASE_NS <= found["lower_bound_ns"] <= found["time_ns"]
    assert found["peak_bytes"] <= found["memory_bytes"]
    assert found["valid_for"] == "all schedules"


def test_the_gap_is_the_share_of_the_waiting_that_may_be_avoidable(weights: Terminal) -> None:
    found = weights.json(f"solve {ARGUMENTS} --memory 60% --method l2l")
    # l2l: two transfers of 50 ns per layer.
    assert found["time_ns"] == BASE_NS + 600
    assert found["gap"] == (found["time_ns"] - found["lower_bound_ns"]) / 600


def test_a_table_says_what_is_waited_for(weights: Terminal) -> None:
    out = weights.output(f"solve {ARGUMENTS} --memory 60% --method l2l")
    lines = dict(line.split("  ", 1) for line in out.splitlines())
    assert lines["link"].strip() == "1 GB/s each way"
    # 600 of 72 ns.
    assert lines["time"].strip() == "672 ns (+833.3 % over no waiting)"


def test_a_plan_for_a_full_duplex_link_breaks_rules_on_a_shared_one(weights: Terminal) -> None:
    shared = ARGUMENTS.replace(LINK, "--bandwidth 1GB/s:half-duplex")
    planned = weights.json(f"solve {ARGUMENTS} --memory 60% --method l2l -o full.json")
    found = weights.json(f"solve {shared} --memory 60% --method l2l -o half.json")
    # Five times an upload runs beside a prefetch: 100 ns in place of 50.
    assert found["time_ns"] == planned["time_ns"] + 5 * 50
    assert planned["total_bandwidth_bytes_per_s"] is None
    assert found["total_bandwidth_bytes_per_s"] == found["bandwidth_bytes_per_s"]
    status, _, said = weights.run(
        "verify full.json --instance layers.json --bandwidth 1GB/s:half-duplex"
    )
    assert status == 2
    # The weights of layer 6 are deleted at 50 ns after their upload started, as planned.
    assert "in use: w^6" in said
    for link in ("1GB/s", "1GB/s:half-duplex", "1GB/s:total=1.5GB/s"):
        assert "a valid schedule" in weights.output(
            f"verify half.json --instance layers.json --bandwidth {link}"
        )


def test_a_saved_schedule_is_judged_valid_with_the_same_time(weights: Terminal) -> None:
    solved = weights.json(f"solve {ARGUMENTS} --memory 60% {SOON} -o mine.json")
    document = json.loads((weights.folder / "mine.json").read_text())
    assert document["kind"] == "cyclic-schedule"
    assert document["period_ns"] == solved["time_ns"]
    assert document["instance_sha256"] == LAYERS.sha256
    judged = weights.json(f"bound {ARGUMENTS} --memory 60% {SOON} --schedule mine.json")
    assert judged["status"] == "valid"
    assert (judged["time_ns"], judged["peak_bytes"]) == (solved["time_ns"], solved["peak_bytes"])
    assert BASE_NS <= judged["lower_bound_ns"] <= judged["time_ns"]


def test_a_schedule_of_ones_own_is_judged_and_drawn(weights: Terminal) -> None:
    saved(weights, cyclic(BASE_NS, KEEP_ALL))
    judged = weights.json(f"bound {ARGUMENTS} --memory 100% --schedule mine.json --plot cycle.png")
    assert judged["status"] == "valid"
    assert (judged["time_ns"], judged["peak_bytes"]) == (BASE_NS, ALL_WEIGHTS_BYTES)
    assert judged["gap"] == 0
    assert (weights.folder / "cycle.png").read_bytes().startswith(b"\x89PNG")


def test_a_broken_schedule_ends_with_2_and_every_broken_rule_is_named(weights: Terminal) -> None:
    # B 6 changes its weights while they are uploaded, and one byte is missing for it; F 2 starts
    # while F 1 runs; the weights of layer 1 leave without a copy and come back in time for B 1.
    broken = KEEP_ALL.replace("B6@0", "upload6@0, B6@0").replace("F2@52", "F2@51")
    broken = broken.replace("F3@56", "F3@56, delete1@58, prefetch1@58")
    saved(weights, cyclic(BASE_NS, broken))
    memory = f"{ALL_WEIGHTS_BYTES - 1}B"
    words = f"bound {ARGUMENTS} --memory {memory} --schedule mine.json"
    code, out, _ = weights.run(f"{words} --plot cycle.png")
    assert code == 2
    found = [line.split("  ", 1)[1].strip() for line in out.splitlines() if "broken rule" in line]
    for rule in (
        "(F 2): busy: the processor",
        "(B 6): in use: w^6",
        "(delete 1): no copy on the host: w^1",
        "(B 6): out of memory: B 6, 1 bytes over the limit",
    ):
        assert any(line.endswith(rule) for line in found), (rule, found)
    assert (weights.folder / "cycle.png").stat().st_size


def test_a_schedule_of_another_problem_is_refused(weights: Terminal) -> None:
    weights.json("solve remat-chain layers.json --memory 100% -o mine.json")
    err = weights.error(f"bound {ARGUMENTS} --memory 60% --schedule mine.json")
    assert "schedule: ChainSchedule is not a schedule for weight-offload" in err


def test_solve_draws_the_cycle(weights: Terminal) -> None:
    weights.json(f"solve {ARGUMENTS} --memory 60% {SOON} --plot cycle.png")
    assert (weights.folder / "cycle.png").read_bytes().startswith(b"\x89PNG")


def test_there_is_no_grid_of_what_is_never_recomputed(weights: Terminal) -> None:
    before = sorted(weights.folder.iterdir())
    code, out, err = weights.run(f"solve {ARGUMENTS} --memory 60% -o mine.json --grid grid.png")
    assert (code, out) == (2, "")
    assert err == (
        "error: grid: weight-offload has no grid of recomputations; leave it out, or use --plot, "
        "which shows the memory in time\n"
    )
    assert sorted(weights.folder.iterdir()) == before


def test_too_little_memory_ends_with_3_and_the_least_that_would_do(weights: Terminal) -> None:
    code, out, _ = weights.run(f"solve {ARGUMENTS} --memory {LEAST_BYTES - 1}B --json")
    assert code == 3
    found = json.loads(out)
    assert (found["status"], found["time_ns"]) == ("infeasible", None)
    assert found["least_memory_bytes"] == LEAST_BYTES
    enough = weights.json(f"solve {ARGUMENTS} --memory {LEAST_BYTES}B {SOON}")
    assert enough["peak_bytes"] == LEAST_BYTES
    code, _, _ = weights.run(f"bound {ARGUMENTS} --memory {LEAST_BYTES - 1}B")
    assert code == 3


def test_compare_lists_every_method_in_every_memory_and_draws(weights: Terminal) -> None:
    words = f"compare {ARGUMENTS} --memory 50%,60%,70% {SOON} --plot curve.png"
    results = weights.json(words)["results"]
    assert len(results) == 3 * len(METHODS)
    assert {item["method"] for item in results} == METHODS
    assert "l2l" in METHODS
    for item in results:
        assert item["lower_bound_ns"] >= BASE_NS
        if item["time_ns"] is not None:
            assert item["lower_bound_ns"] <= item["time_ns"]
            assert item["peak_bytes"] <= item["memory_bytes"]
    assert (weights.folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_compare_says_without_what_the_base_time_is(weights: Terminal) -> None:
    out = weights.output(f"compare {ARGUMENTS} --memory 60% --methods l2l")
    assert "weight-offload layers, 72 ns without waiting" in out
    assert "1 GB/s" in out


def test_a_chain_without_weights_needs_no_transfers(weights: Terminal) -> None:
    bare = Chain("bare", 0, tuple(replace(stage, weight_bytes=0) for stage in LAYERS.stages))
    save(bare, weights.folder / "bare.json")
    found = weights.json(f"solve weight-offload bare.json {LINK} --memory 100% --plot cycle.png")
    assert found["status"] == "optimal"
    assert found["time_ns"] == BASE_NS
    out = weights.output("show bare.json")
    assert "all_weights_peak_bytes" not in out


def test_show_says_what_weights_need(weights: Terminal) -> None:
    shown = weights.json("show layers.json")
    assert shown["weight_bytes"] == 6 * 50
    assert shown["all_weights_peak_bytes"] == ALL_WEIGHTS_BYTES
    assert shown["offloaded_weights_peak_bytes"] == LEAST_BYTES


def test_a_replay_by_hand_agrees(weights: Terminal) -> None:
    replay = cyclic(BASE_NS, KEEP_ALL).replay(WeightCycle(LAYERS), Link(10**9))
    assert replay.valid
    assert replay.peak_bytes == ALL_WEIGHTS_BYTES


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "solve weight-offload layers.json --memory 60%",
            "bandwidth: weight-offload needs a link; write --bandwidth 12GB/s",
        ),
        (
            f"solve {ARGUMENTS} --alpha 0.2",
            "memory: alpha=0.2 is a ratio between two ways to recompute; write an amount (12GiB)",
        ),
        (
            f"solve {ARGUMENTS} --memory 60% --transfers fluid",
            "transfers: weight-offload leaves nothing open about transfers",
        ),
        (f"solve {ARGUMENTS}", "write --memory 40%, --alpha 0.2, or --card 96GiB"),
        (
            f"solve weight-offload graph.json {LINK} --memory 60%",
            "instance: ladder is a graph; give a chain to weight-offload; a graph is for remat-",
        ),
        (
            "compare weight-offload layers.json --memory 60%",
            "bandwidth: weight-offload needs a link",
        ),
        (
            f"solve {ARGUMENTS} --memory 60% --method rotor",
            "'rotor' is not a method of weight-offload; choose one of",
        ),
        (
            "compare weight-offload layers.json --memory 60% --bandwidth 1GB/s,2GB/s --plot a.png",
            "the picture is for one bandwidth, not for 1GB/s,2GB/s",
        ),
    ],
)
def test_bad_input_ends_with_2_and_one_line(weights: Terminal, words: str, message: str) -> None:
    before = sorted(weights.folder.iterdir())
    err = weights.error(words)
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(weights.folder.iterdir()) == before
