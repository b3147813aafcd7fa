"""Every command as a user types it: output, exit status, and what bad input says."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from jettison import Chain, save
from jettison.instances.catalog import bundled_instances
from jettison.solvers.core.registry import methods_of
from tests.cli.terminal import Terminal

RESULT_KEYS = {
    "status",
    "method",
    "time_ns",
    "peak_bytes",
    "lower_bound_ns",
    "gap",
    "valid_for",
    "seconds",
    "instance_sha256",
}

METHOD_NAMES = {method.name for method in methods_of("remat-chain")}


def test_solve_prints_one_json_object_with_the_promised_keys(terminal: Terminal) -> None:
    found = terminal.json("solve remat-chain chain.json --memory 50%")
    assert found.keys() >= RESULT_KEYS
    # Store-all keeps 50 + 8 * 300 bytes, and the last layer's backward adds 100 + 100.
    assert found["memory_bytes"] == (50 + 8 * 300 + 200) // 2
    assert found["peak_bytes"] <= found["memory_bytes"]
    assert found["lower_bound_ns"] <= found["time_ns"]
    assert found["instance_sha256"] == terminal.chain.sha256


def test_solve_without_json_names_status_time_and_bound(terminal: Terminal) -> None:
    out = terminal.output("solve remat-chain chain.json --memory 50%")
    lines = dict(line.split("  ", 1) for line in out.splitlines())
    assert lines["status"].strip() == "optimal (completed)"
    assert {"time", "peak", "lower bound", "valid for", "gap"} <= lines.keys()


def test_full_memory_is_optimal_among_all_schedules(terminal: Terminal) -> None:
    found = terminal.json("solve remat-chain chain.json --memory 100%")
    assert (found["status"], found["valid_for"]) == ("optimal", "all schedules")
    assert found["time_ns"] == terminal.chain.base_time_ns


def test_too_little_memory_ends_with_3_and_the_least_that_would_do(terminal: Terminal) -> None:
    code, out, _ = terminal.run("solve remat-chain chain.json --memory 100B --json")
    assert code == 3
    found = json.loads(out)
    assert found["status"] == "infeasible"
    assert found["time_ns"] is None
    least = found["least_memory_bytes"]
    enough = terminal.json(f"solve remat-chain chain.json --memory {least}B")
    assert enough["peak_bytes"] == least
    code, _, _ = terminal.run(f"solve remat-chain chain.json --memory {least - 1}B")
    assert code == 3


def test_a_baseline_that_does_not_fit_ends_with_5_and_says_what_it_needs(
    terminal: Terminal,
) -> None:
    code, out, _ = terminal.run("solve remat-chain chain.json --memory 50% --method store-all")
    assert code == 5
    assert "store-all needs 2.59 KiB (2650 bytes)" in out


def test_a_saved_schedule_is_judged_valid_with_the_same_time(terminal: Terminal) -> None:
    solved = terminal.json("solve remat-chain chain.json --memory 50% -o s.json")
    judged = terminal.json("bound remat-chain chain.json --memory 50% --schedule s.json")
    assert judged["status"] == "valid"
    assert judged["time_ns"] == solved["time_ns"]
    assert judged["lower_bound_ns"] == solved["lower_bound_ns"]
    assert judged["gap"] == 0


def test_a_schedule_with_a_drop_is_judged_and_drawn(terminal: Terminal) -> None:
    terminal.run("solve remat-chain chain.json --memory 100% -o s.json")
    path = terminal.folder / "s.json"
    document = json.loads(path.read_text())
    stages = len(document["operations"]) // 2
    # The output of stage 1 is dropped under what stage 2 has saved, and made again.
    document["operations"] = [
        *(["F_ck", 1], ["F_all", 2], ["D", 1]),
        *(["F_all", stage] for stage in range(3, stages + 1)),
        *(["B", stage] for stage in range(stages, 2, -1)),
        *(["F_all", 1], ["B", 2], ["B", 1]),
    ]
    path.write_text(json.dumps(document))
    judged = terminal.json(
        "bound remat-chain chain.json --memory 100% --schedule s.json --plot p.png"
    )
    assert judged["status"] == "valid"
    assert judged["schedule_class"] == "persistent with drops"
    assert (terminal.folder / "p.png").stat().st_size
    document["operations"].insert(3, ["D", 1])
    path.write_text(json.dumps(document))
    err = terminal.error("verify s.json --instance chain.json")
    assert "operation 3 (D 1): not in memory: a^1" in err


def test_a_broken_schedule_ends_with_2_and_names_the_rule(terminal: Terminal) -> None:
    terminal.run("solve remat-chain chain.json --memory 50% -o s.json")
    path = terminal.folder / "s.json"
    document = json.loads(path.read_text())
    document["operations"] = [entry for entry in document["operations"] if entry != ["B", 3]]
    path.write_text(json.dumps(document))
    code, out, _ = terminal.run("bound remat-chain chain.json --memory 50% --schedule s.json")
    assert code == 2
    assert "wrong gradient: δ^2" in out


def test_a_schedule_that_needs_more_memory_says_how_many_bytes_over(terminal: Terminal) -> None:
    terminal.run("solve remat-chain chain.json --memory 100% --method store-all -o s.json")
    code, out, _ = terminal.run("bound remat-chain chain.json --memory 2649B --schedule s.json")
    assert code == 2
    # The peak, 2650 bytes, is met by the backward of stage 8, whose output is the gradient δ^7.
    assert "(B 8): out of memory: δ^7, 1 bytes over the limit" in out


def test_a_schedule_for_another_instance_is_refused(terminal: Terminal) -> None:
    terminal.run("solve remat-chain chain.json --memory 50% -o s.json")
    other = Chain("other", 51, terminal.chain.stages)
    save(other, terminal.folder / "other.json")
    err = terminal.error("bound remat-chain other.json --memory 50% --schedule s.json")
    assert "s.json: instance_sha256: the schedule is for the instance" in err


def test_compare_lists_every_method_in_every_memory(terminal: Terminal) -> None:
    found = terminal.json("compare remat-chain chain.json --memory 40%,60%,100%")
    rows = found["results"]
    assert len(rows) == 3 * len(METHOD_NAMES)
    assert {row["method"] for row in rows} == METHOD_NAMES
    assert len(METHOD_NAMES) >= 5
    for row in rows:
        assert row.keys() >= RESULT_KEYS
        assert row["lower_bound_ns"] is not None
        if row["time_ns"] is not None:
            assert row["lower_bound_ns"] <= row["time_ns"]
            assert row["peak_bytes"] <= row["memory_bytes"]


def test_compare_judges_heuristics_by_the_best_bound_of_all(terminal: Terminal) -> None:
    rows = terminal.json("compare remat-chain chain.json --memory 50%")["results"]
    exact = next(row for row in rows if row["method"] == "rotor")
    lazy = next(row for row in rows if row["method"] == "recompute-all")
    assert lazy["lower_bound_ns"] == exact["lower_bound_ns"]
    assert lazy["gap"] > 0


def test_compare_prints_a_table_and_draws_a_picture(terminal: Terminal) -> None:
    out = terminal.output("compare remat-chain chain.json --memory 50%,70% --plot curve.png")
    assert "optimal" in out
    assert (terminal.folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_graph_is_solved_bounded_and_drawn(terminal: Terminal) -> None:
    found = terminal.json(
        "solve remat-graph graph.json --memory 90% -o g.json --plot memory.png --grid grid.png"
    )
    assert found["status"] in {"optimal", "optimal-in-order", "optimal-staged"}
    assert found["peak_bytes"] <= found["memory_bytes"]
    judged = terminal.json(
        "bound remat-graph graph.json --memory 90% --schedule g.json --time-limit 1"
    )
    assert judged["status"] == "valid"
    assert judged["lower_bound_ns"] == found["lower_bound_ns"]
    for name in ("memory.png", "grid.png"):
        assert (terminal.folder / name).read_bytes().startswith(b"\x89PNG")


def test_remat_graph_takes_a_chain_as_its_graph(terminal: Terminal) -> None:
    code, out, err = terminal.run("solve remat-graph chain.json --memory 100% --json")
    assert code == 0
    assert json.loads(out)["time_ns"] == terminal.chain.base_time_ns
    assert "small is a chain; using its graph" in err


LINK = "--alpha 0.3 --bandwidth 10GB/s"


def test_a_chain_with_a_link_is_solved_judged_and_drawn(terminal: Terminal) -> None:
    found = terminal.json(f"solve remat-offload-chain chain.json {LINK} -o mine.json --plot p.png")
    assert (found["bandwidth_bytes_per_s"], found["transfers"]) == (10 * 10**9, "at-once")
    assert (terminal.folder / "p.png").stat().st_size
    judged = terminal.json(f"bound remat-offload-chain chain.json {LINK} --schedule mine.json")
    assert judged["status"] == "valid"
    assert judged["time_ns"] == found["time_ns"]
    assert judged["lower_bound_ns"] <= judged["time_ns"]


def test_compare_on_a_link_lists_the_algorithms_of_pofo_with_bounds(terminal: Terminal) -> None:
    results = terminal.json(f"compare remat-offload-chain chain.json {LINK}")["results"]
    found = {result["method"]: result for result in results}
    assert {"rotor", "opportunist", "autocapper", "cut-bound"} <= set(found)
    bound = found["cut-bound"]["lower_bound_ns"]
    assert all(item["time_ns"] >= bound for item in results if item["time_ns"] is not None)


def test_compare_ends_with_4_or_5_where_it_was_interrupted(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jettison.solvers.remat_offload.autocapper.offer_autocapper", interrupted)
    words = "compare remat-offload-chain chain.json --bandwidth 1GB/s --json"
    code, out, _ = terminal.run(f"{words} --memory 80% --methods offload-all,autocapper")
    assert code == 4
    results = json.loads(out)["results"]
    assert [item["method"] for item in results] == ["offload-all", "autocapper"]
    assert results[1]["termination"] == "interrupted"
    code, _, _ = terminal.run(f"{words} --memory 80% --methods cut-bound,autocapper")
    assert code == 5
    code, out, _ = terminal.run(f"{words} --memory 80% --methods autocapper,cut-bound")
    assert code == 5
    assert [item["method"] for item in json.loads(out)["results"]] == ["autocapper"]


def test_compare_takes_lists_of_memories_and_of_bandwidths(terminal: Terminal) -> None:
    words = "--memory 60%,80% --bandwidth 1GB/s,2GB/s --methods rotor"
    results = terminal.json(f"compare remat-offload-chain chain.json {words}")["results"]
    assert [item["bandwidth_bytes_per_s"] for item in results] == [10**9, 2 * 10**9] * 2


def test_fluid_transfers_can_be_asked_for(terminal: Terminal) -> None:
    out = terminal.output(f"solve remat-offload-chain chain.json {LINK} --transfers fluid")
    assert "10 GB/s each way, transfers fluid" in out


def test_a_schedule_with_transfers_is_none_of_a_chain_without_a_link(terminal: Terminal) -> None:
    terminal.json(f"solve remat-offload-chain chain.json {LINK} -o mine.json")
    err = terminal.error("bound remat-chain chain.json --memory 60% --schedule mine.json")
    assert "schedule: OffloadSchedule is not a schedule for remat-chain" in err


def test_export_writes_the_integer_program(terminal: Terminal) -> None:
    code, _, err = terminal.run("export remat-graph graph.json --memory 90% -o model.mps")
    assert code == 0
    assert "rows" in err
    assert "ROWS" in (terminal.folder / "model.mps").read_text()


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        # f0 to f4 are nodes 0 to 4, b4 to b0 nodes 5 to 9.
        ("checkmate-unpartitioned --form aggregated", ("empty", "terminal_9", "free_if_0_0_1")),
        ("residency", ("memory_3", "again_3_1_0", "slot_6_0")),
        ("restricted", ("memory_3", "again_5_1_0", "slot_6_0")),
        ("frontier", ("memory_3", "again_3_1_0")),
        ("cut-closure --cut f2", ("memory_3", "lost_2_1", "path_2_1_0")),
        # Without a cut it is where the step without recomputation needs most, first at b4.
        ("single-cut", ("memory_5", "need_5_3")),
        ("single-cut --cut f2", ("memory_2", "need_2_1")),
        ("windowed-frontier --cut b2 --cut f2", ("memory_7", "stay_7_1")),
        ("retention-intervals --intervals 3", ("intervals_6", "retain_6_6_4")),
    ],
    ids=lambda value: "",
)
def test_export_writes_other_formulations_of_a_graph(
    terminal: Terminal, words: str, rows: tuple[str, ...]
) -> None:
    code, _, err = terminal.run(
        f"export remat-graph graph.json --memory 90% -o model.lp --formulation {words}"
    )
    assert code == 0, err
    written = (terminal.folder / "model.lp").read_text()
    for row in rows:
        assert f"{row}:" in written


def test_export_writes_the_milp_of_weight_offloading(terminal: Terminal) -> None:
    code, _, err = terminal.run(
        "export weight-offload gpt2-38-b16-table1 --memory 14645MiB --bandwidth 4GB/s -o model.lp"
    )
    assert code == 0
    assert "rows" in err
    written = (terminal.folder / "model.lp").read_text()
    # (2), (4) and (8) of the paper; layer 38 has no weights.
    assert all(name in written for name in ("out_0:", "memory_75:", "late_37:"))
    assert "late_38" not in written


def test_list_and_show_know_the_bundled_instances(terminal: Terminal) -> None:
    listed = terminal.json("list instances")["instances"]
    assert [entry["name"] for entry in listed] == [entry.name for entry in bundled_instances()]
    assert all(entry["device"] for entry in listed)
    shown = terminal.json("show", listed[0]["name"])
    assert shown["kind"] == "chain"
    assert shown["provenance"]["device_kind"] == listed[0]["device_kind"]


def test_list_methods_names_promise_and_source(terminal: Terminal) -> None:
    found = terminal.json("list methods")["methods"]
    rotor = next(entry for entry in found if entry["name"] == "rotor")
    assert rotor["promise"] == "exact-persistent"
    assert "RR-9302" in rotor["source"]


EXPORT = "export remat-graph graph.json --memory 50% -o model.lp"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("solve remat-chain chain.json --memory 500", "memory: '500' has no unit"),
        ("solve remat-chain none.json --memory 50%", "cannot read the file"),
        ("solve remat-chain nothing --memory 50%", "jettison list instances"),
        ("solve remat-cake chain.json --memory 50%", "choose one of remat-chain"),
        ("solve remat-chain graph.json --memory 50%", "ladder is a graph"),
        ("solve remat-chain chain.json --memory 50% --method magic", "choose one of unrestricted"),
        (
            "solve remat-chain chain.json --memory 50% --gap 2",
            "gap: 2.0; write a number from 0 to 1",
        ),
        ("solve remat-chain chain.json --memory 50% --time-limit 0", "time_limit: 0.0 seconds"),
        (
            "bound remat-chain chain.json --memory 50% --method periodic",
            "'periodic' proves no bound",
        ),
        (
            "export remat-chain chain.json --memory 50% -o model.lp",
            "write weight-offload or training-chain or remat-graph or",
        ),
        (
            f"{EXPORT} --formulation frontier --cut f2",
            "cut: frontier has no cuts; leave it out, or choose cut-closure",
        ),
        (f"{EXPORT} --formulation single-cut --cut none", "cut: 'none' is not a node of ladder"),
        (f"{EXPORT} --formulation single-cut --cut f1 --cut f2", "cut: there are 2; give one"),
        (
            f"{EXPORT} --formulation retention-intervals --intervals 0",
            "per_node: 0; allow each node 1 interval",
        ),
        (
            "solve remat-offload-chain chain.json --memory 50%",
            "bandwidth: remat-offload-chain needs a link; write --bandwidth 12GB/s",
        ),
        (
            "solve remat-offload-chain chain.json --memory 50% --bandwidth fast",
            "bandwidth: 'fast' is not a rate",
        ),
        (
            "solve remat-chain chain.json --memory 50% --bandwidth 1GB/s",
            "bandwidth: remat-chain has no link",
        ),
        (
            "compare remat-offload-chain chain.json --alpha 0 --bandwidth 1GB/s,2GB/s --plot p.png",
            "the picture is for one bandwidth, not for 1GB/s,2GB/s",
        ),
        (
            f"solve remat-chain chain.json --memory 50% --threads {'9' * 20}",
            f"threads: {'9' * 20}; write 1 to 1024",
        ),
        (
            "solve remat-chain chain.json --memory 50% --seed 2147483648",
            "seed: 2147483648; write 0 to 2147483647",
        ),
        (
            f"solve remat-chain chain.json --memory {'9' * 30 + '%'}",
            "of the no-saving peak; write at most 400%",
        ),
        ("solve remat-chain chain.json", "write --memory 40%, --alpha 0.2, or --card 96GiB"),
        ("solve remat-chain chain.json --alpha 2", "memory: alpha = 2; write a ratio from 0 to 1"),
        ("import networkx none.json -o out.json", "cannot read the file"),
        ("import pipedream chain.json -o out.json", "chain.json"),
        ("show nothing", "jettison list instances"),
    ],
)
def test_bad_input_ends_with_2_and_one_line(terminal: Terminal, words: str, message: str) -> None:
    before = sorted(terminal.folder.iterdir())
    code, out, err = terminal.run(words)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(terminal.folder.iterdir()) == before


@pytest.mark.parametrize("option", ["--plot", "--grid", "-o"])
def test_a_folder_that_does_not_exist_is_refused_before_the_work(
    terminal: Terminal, option: str
) -> None:
    err = terminal.error(f"solve remat-chain chain.json --memory 50% {option} missing/file.png")
    assert "missing/file.png" in err


def test_an_unknown_option_ends_with_2(terminal: Terminal) -> None:
    code, _, err = terminal.run("solve remat-chain chain.json --speed 9")
    assert (code, "--speed" in err) == (2, True)


@pytest.mark.parametrize(
    "command", ["solve", "bound", "compare", "show", "export", "list", "import"]
)
def test_every_command_has_a_help_text(terminal: Terminal, command: str) -> None:
    out = terminal.output(f"{command} --help")
    assert f"Usage: jettison {command}" in out or "Usage:" in out


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("solve remat-chian x", "write remat-chain, or choose one of remat-chain, "),
        ("show Resnet50-b4-224", "write resnet50-b4-224-cpu, or run `jettison list "),
        (
            "solve remat-chain chain.json --memory 50% --method revolv",
            "write revolve, or choose one of unrestricted, ",
        ),
    ],
)
def test_an_unknown_name_is_told_the_most_similar_one(
    terminal: Terminal, words: str, advice: str
) -> None:
    assert advice in terminal.error(words)


def test_the_version_is_that_of_the_package(terminal: Terminal) -> None:
    assert terminal.run("--version") == (0, f"jettison {metadata.version('jettison')}\n", "")


@pytest.mark.parametrize("group", ["", "list", "import", "generate"])
def test_no_line_of_a_list_of_commands_is_cut(
    terminal: Terminal, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = terminal.output(f"{group} -h")
    commands = out.partition("Commands:\n")[2]
    assert commands
    assert "..." not in commands


def test_small_amounts_are_written_once(terminal: Terminal) -> None:
    _, out, _ = terminal.run("solve remat-graph graph.json --memory 100%")
    # Ten nodes of 5 ns each; memory is below 1 KiB.
    assert "\ntime         50 ns (+0.00 % over no recomputation)\n" in out
    assert " bytes (" not in out
