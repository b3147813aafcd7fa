"""Sharding from the contest's file to a verified choice."""

from __future__ import annotations

import json

from tests.cli.terminal import Terminal

# Two operators; both strategies of n0 with the same one of n1 cost nothing more.
CONTEST = {
    "problem": {
        "name": "tiny",
        "nodes": {
            "intervals": [[0, 2], [1, 3]],
            "costs": [[0, 4], [4, 1]],
            "usages": [[5, 2], [5, 2]],
        },
        "edges": {"nodes": [[0, 1]], "costs": [[0, 9, 10**18, 0]]},
        "usage_limit": 9,
    }
}


def test_a_contest_file_is_imported_solved_judged_and_verified(terminal: Terminal) -> None:
    (terminal.folder / "contest.json").write_text(json.dumps(CONTEST), encoding="utf-8")
    terminal.output("import iopddl contest.json -o b.json")
    facts = terminal.json("show b.json")
    assert (facts["nodes"], facts["edges"], facts["forbidden_pairs"]) == (2, 1, 1)
    assert facts["usage_limit_bytes"] == 9
    # In 9 bytes not both take 5: (0, 1) costs 0 + 9 + 1, (1, 1) 4 + 0 + 1.
    status, printed, _ = terminal.run("solve sharding b.json -o choice.json --plot p.png --json")
    result = json.loads(printed)
    assert status == 0
    assert (result["status"], result["time_ns"], result["peak_bytes"]) == ("optimal", 5, 4)
    assert result["memory_bytes"] == 9
    assert (terminal.folder / "p.png").is_file()
    # With the memory for both 5: (0, 0) costs 4.
    status, printed, _ = terminal.run("solve sharding b.json --memory 10B --json")
    assert json.loads(printed)["time_ns"] == 4
    status, printed, _ = terminal.run("bound sharding b.json --schedule choice.json --json")
    verdict = json.loads(printed)
    assert (status, verdict["status"], verdict["gap"]) == (0, "valid", 0)
    # The instance of --instance is named by a path, as the terminal makes of .json.
    printed = terminal.output("verify choice.json --instance b.json")
    assert "a valid choice for tiny: 5 ns, peak 4 bytes, the limit 9" in printed


def test_a_choice_that_does_not_fit_is_refused_with_its_time(terminal: Terminal) -> None:
    (terminal.folder / "contest.json").write_text(json.dumps(CONTEST), encoding="utf-8")
    terminal.run("import iopddl contest.json -o b.json")
    terminal.run("solve sharding b.json --memory 10B -o choice.json")
    status, printed, _ = terminal.run("bound sharding b.json --schedule choice.json")
    assert status == 2
    assert "time 1: out of memory" in printed
    assert "1 bytes over the limit" in terminal.error("verify choice.json --instance b.json")
    assert "add --instance FILE" in terminal.error("verify choice.json")
    assert "give a strategy-graph" in terminal.error("verify choice.json --instance graph.json")


def test_infeasible_memory_ends_with_3_and_says_what_would_do(terminal: Terminal) -> None:
    (terminal.folder / "contest.json").write_text(json.dumps(CONTEST), encoding="utf-8")
    terminal.run("import iopddl contest.json -o b.json")
    status, printed, _ = terminal.run("solve sharding b.json --memory 3B --json")
    result = json.loads(printed)
    assert (status, result["status"], result["least_memory_bytes"]) == (3, "infeasible", 4)
    status, printed, _ = terminal.run("solve sharding b.json --memory 3B")
    assert status == 3
    assert "least memory" in printed


def test_what_no_memory_makes_possible_names_the_operator(terminal: Terminal) -> None:
    contest = json.loads(json.dumps(CONTEST))
    contest["problem"]["edges"]["costs"] = [[10**18] * 4]
    (terminal.folder / "contest.json").write_text(json.dumps(contest), encoding="utf-8")
    terminal.run("import iopddl contest.json -o b.json")
    status, printed, _ = terminal.run("solve sharding b.json")
    assert status == 3
    assert "none suffices" in printed
    assert "n0" in printed or "n1" in printed
    contest["problem"]["nodes"]["costs"][1] = [10**18, 10**19]
    (terminal.folder / "contest.json").write_text(json.dumps(contest), encoding="utf-8")
    err = terminal.error("import iopddl contest.json -o b.json")
    assert "every strategy of 'n1' is forbidden" in err


def test_a_generated_graph_is_compared_by_all_methods(terminal: Terminal) -> None:
    words = "--nodes 12 --seed 3 --limit-percent 40 -o random.json"
    terminal.output(f"generate strategy-graph {words}")
    printed = terminal.output("compare sharding random.json --json")
    rows = {row["method"]: row for row in json.loads(printed)["results"]}
    assert set(rows) == {"exact", "lagrangian", "local-search", "greedy"}
    best = rows["exact"]["time_ns"]
    assert all(row["time_ns"] is None or row["time_ns"] >= best for row in rows.values())
    terminal.output("compare sharding random.json")


def test_sharding_and_the_other_problems_refuse_the_instances_of_each_other(
    terminal: Terminal,
) -> None:
    terminal.run("generate strategy-graph --nodes 3 -o random.json")
    for words in (
        ("sharding", "graph.json"),
        ("remat-graph", "random.json", "--memory", "50%"),
        ("sharding", "random.json", "--bandwidth", "1GB/s"),
        ("sharding", "random.json", "--alpha", "0.5"),
    ):
        error = terminal.error("solve", *words)
        assert "Traceback" not in error
