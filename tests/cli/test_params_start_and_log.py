"""Parameters from a file, a schedule to begin from, and the log of a search."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.terminal import Terminal

SOLVE = ("solve", "remat-chain", "chain.json", "--memory", "50%")


def test_a_file_gives_parameters_to_methods(terminal: Terminal) -> None:
    path = terminal.folder / "few.toml"
    path.write_text("[rotor]\nfirst_slots = 2\n")
    few = terminal.json(*SOLVE, "--method", "rotor", "--params", str(path))
    usual = terminal.json(*SOLVE, "--method", "rotor")
    assert few["time_ns"] >= usual["time_ns"]
    assert few["work"]["slots"] != usual["work"]["slots"]
    words = "compare remat-chain chain.json --memory 50% --methods rotor,revolve"
    rows = terminal.json(f"{words} --params {path}")["results"]
    assert [row["work"] for row in rows if row["method"] == "rotor"] == [few["work"]]
    words = "bound remat-chain chain.json --memory 50% --method rotor"
    assert terminal.json(f"{words} --params {path}")["lower_bound_ns"] == few["lower_bound_ns"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rotor]\nslots = 4", "rotor.slots: there is no such parameter; write first_slots, or"),
        ("[rotor]\nfirst_slots = 0.5", "rotor.first_slots: 0.5; write a whole number from 1"),
        ("[rotors]", "method: 'rotors' is not a method of remat-chain; write rotor, or"),
        (
            "[revolve]",
            "revolve: the method does not run; leave it out, or give parameters of rotor",
        ),
        ("rotor = 3", "rotor: 3; write a table for each method"),
        ("[rotor", "not TOML: "),
    ],
)
def test_errors_name_file_field_and_value(terminal: Terminal, text: str, message: str) -> None:
    path = terminal.folder / "wrong.toml"
    path.write_text(text)
    err = terminal.error(*SOLVE, "--method", "rotor", "--params", str(path))
    assert err.startswith(f"error: {path}: {message}")


def test_methods_are_listed_with_their_parameters(terminal: Terminal) -> None:
    out = terminal.output("list methods remat-chain -v")
    heading = r"^parameters of remat-chain ([\w-]+), .*\n((?: .*\n)+)"
    of_method = dict(re.findall(heading, out, re.MULTILINE))
    assert re.search(r" first_slots +500\n +Slots of the first grid\n", of_method["rotor-exact"])
    assert re.search(r" first_slots +500  as for rotor-exact\n", of_method["rotor"])
    # What the program inside it is tuned with is its own affair.
    assert "first_slots" not in of_method["unrestricted"]
    assert len(re.findall("Slots of the first grid\n", out)) == 1
    assert re.search(r"largest_table_bytes +4_294_967_296 bytes\n +Limit on the table", out)
    listed = terminal.json("list methods remat-chain -v")["methods"]
    assert {item["problem"] for item in listed} == {"remat-chain"}
    rotor = next(item for item in listed if item["name"] == "rotor")
    defaults = {param["name"]: param["default"] for param in rotor["params"]}
    units = {param["name"]: param["unit"] for param in rotor["params"]}
    assert (units["first_slots"], units["share_of_cuts"]) == ("", "share")
    assert (defaults["first_slots"], defaults["largest_table_bytes"]) == (500, 4 * 2**30)
    # What it inherits from the cut bound is listed as well.
    assert defaults["share_of_cuts"] == 0.2
    assert "params" not in terminal.json("list methods remat-chain")["methods"][0]
    assert "is not a problem" in terminal.run("list methods remat")[2]


def test_a_schedule_to_begin_from(terminal: Terminal) -> None:
    best = terminal.json(*SOLVE, "--method", "rotor-exact", "-o", "best.json")
    found = terminal.json(*SOLVE, "--method", "revolve", "--start", "best.json")
    assert (
        found["time_ns"]
        == best["time_ns"]
        < terminal.json(*SOLVE, "--method", "revolve")["time_ns"]
    )
    err = terminal.error("solve remat-chain chain.json --memory 45% --start best.json")
    assert "start: the schedule breaks a rule" in err
    code, _, err = terminal.run(*SOLVE, "--method", "cut-bound", "--start", "best.json")
    assert (code, "start: cut-bound proves a bound" in err) == (2, True)


def test_a_log_has_a_line_for_each_schedule_and_bound(terminal: Terminal) -> None:
    code, out, err = terminal.run(*SOLVE, "--method", "rotor", "--log", "--json")
    assert code == 0
    found = json.loads(out)
    lines = err.splitlines()
    assert all(re.match(r" *\d+\.\d{3} s  (schedule|bound   )  ", line) for line in lines)
    schedules = [line for line in lines if "schedule  " in line]
    assert f"{found['time_ns']} ns" in schedules[-1]
    assert "peak" in schedules[-1]
    assert any("for persistent, by rotor; gap" in line for line in lines)
    code, _, err = terminal.run("bound", *SOLVE[1:], "--log")
    assert code == 0
    assert "by unrestricted" in err
    assert "s  schedule  " not in err


def test_a_log_of_several_runs_says_of_which_each_line_is(terminal: Terminal) -> None:
    compared = "compare remat-chain chain.json --memory 60%,80% --methods rotor,revolve"
    code, out, err = terminal.run(f"{compared} --log --json")
    assert code == 0
    # The memories of rotor are solved on one table, and told when it is done.
    runs = ["60% rotor", "60% revolve", "80% rotor", "80% revolve"]
    for result, run in zip(json.loads(out)["results"], runs, strict=True):
        best_ns = result["time_ns"]
        told = [line for line in err.splitlines() if f"  {run}: " in line]
        assert any(f"{best_ns} ns" in line for line in told if "schedule  " in line), run
    assert terminal.run(compared)[2] == ""
