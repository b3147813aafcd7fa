"""Instance that `jettison verify` says a certificate is about, and what that is compared with."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jettison import Chain, load, save
from jettison.cli.time_limit import TimeLimitError, time_limit
from jettison.cli.verify import command as verify_command
from tests.certificates.written_certificate import header_of, written
from tests.cli.terminal import Terminal

DATA = Path(__file__).parents[1] / "certificates/data"
BUNDLED = "resnet18-b4-224-cpu"
STORED = str(DATA / f"remat-chain-{BUNDLED}.gz")
# Its hash, and that of another bundled chain.
SHA256 = "c034b478157ed41b07659b8ba0b42a920574b0340085a00d721498f07b91d81d"
OTHER = "resnet50-b4-224-cpu"
OTHER_SHA256 = "9eb83fab89ea3392eeb24652d36070ab6a19c1aee39d96dccfa3a644ab12ac55"


@pytest.fixture
def own(terminal: Terminal) -> str:
    """Return a certificate of the small chain in 40 % of 2810 bytes: 1124."""
    path = terminal.folder / "own.gz"
    terminal.output(f"bound remat-chain chain.json --memory 40% --certificate {path}")
    return str(path)


def test_another_instance_is_refused_with_both_hashes(terminal: Terminal) -> None:
    assert f"about the instance {SHA256}, and {OTHER} has {OTHER_SHA256};" in terminal.error(
        f"verify {STORED} --instance {OTHER}"
    )
    assert terminal.chain.sha256 in terminal.error(f"verify {STORED} --instance chain.json")


def test_the_instance_that_it_is_about_is_named(terminal: Terminal, own: str) -> None:
    words = f"--instance {OTHER} --instance {BUNDLED}"
    code, out, err = terminal.run(f"verify {STORED} {words}")
    assert (code, err) == (0, "")
    assert f"(instance {SHA256[:12]}, that of {BUNDLED}, persistent-bellman" in out
    code, out, _ = terminal.run(f"verify {own} --instance chain.json")
    assert code == 0
    assert f"that of {terminal.folder / 'chain.json'}, persistent-bellman" in out


def test_without_an_instance_the_line_says_who_says_its_name(terminal: Terminal, own: str) -> None:
    assert "the bundled one of this name, " in terminal.run(f"verify {STORED}")[1]
    graph = str(DATA / f"remat-graph-{BUNDLED}.gz")
    assert "the graph of the bundled chain of this name, " in terminal.run(f"verify {graph}")[1]
    line = terminal.run(f"verify {own}")[1]
    assert "of remat-chain small, " in line
    assert ", named so by the file, persistent-bellman" in line


def test_a_bundled_name_on_another_chain_is_told_from_the_bundled_one(terminal: Terminal) -> None:
    chain = load(BUNDLED)
    assert isinstance(chain, Chain)
    slow = [
        replace(stage, forward_ns=10 * stage.forward_ns, backward_ns=10 * stage.backward_ns)
        for stage in chain.stages
    ]
    save(replace(chain, stages=tuple(slow)), terminal.folder / "slow.json")
    path = str(terminal.folder / "slow.gz")
    words = f"remat-chain slow.json --memory 80% --certificate {path}"
    terminal.output(f"bound {words}")
    out = terminal.output(f"verify {path}")
    assert f"of remat-chain {BUNDLED}, " in out
    assert f"named so by the file; the bundled one of this name is another: {SHA256[:12]}" in out
    assert SHA256 in terminal.error(f"verify {path} --instance {BUNDLED}")
    # And the bundled chain under another name.
    save(replace(chain, name="mine"), terminal.folder / "mine.json")
    words = f"remat-chain mine.json --memory 80% --certificate {path}"
    terminal.output(f"bound {words}")
    assert (
        f"of remat-chain mine, memory_bytes 87059251 (instance {SHA256[:12]}, bundled as "
        in (terminal.run(f"verify {path}")[1])
    )


def test_memory_and_link_are_compared_in_every_form(terminal: Terminal, own: str) -> None:
    # The stored proof is for 86124032 bytes, 79.1 % of the peak of 108824064.
    terminal.output(f"verify {STORED} --memory 86124032B")
    assert (
        "memory: the certificate is about 86124032 bytes, and --memory is 87059251 bytes"
        in terminal.error(f"verify {STORED} --memory 80%")
    )
    for memory, expected in (("40%", 0), ("41%", 2)):
        assert terminal.run(f"verify {own} --memory {memory}")[0] == expected
        given = f"--memory {memory} --instance chain.json"
        assert terminal.run(f"verify {own} {given}")[0] == expected
    assert terminal.run(f"verify {own} --alpha 0.2")[0] == 2
    offload = str(DATA / "weight-offload-gpt2-38-b16-table1.gz")
    terminal.output(f"verify {offload} --bandwidth 12GB/s")
    err = terminal.error(f"verify {offload} --bandwidth 11GB/s")
    assert "about 12000000000 bytes/s, and --bandwidth is 11000000000 bytes/s" in err
    assert "--memory is" in terminal.error(f"verify {offload} --memory 50% --bandwidth 12GB/s")


def test_the_memory_of_a_graph_is_that_of_the_chain_that_it_was_made_of(
    terminal: Terminal,
) -> None:
    path = str(terminal.folder / "graph.gz")
    words = "remat-graph chain.json --memory 60% --time-limit 2"
    terminal.output(f"bound {words} --certificate {path} --method cut-bound")
    given = "--instance chain.json --memory"
    terminal.output(f"verify {path} {given} 60%")
    assert terminal.run(f"verify {path} {given} 61%")[0] == 2
    out = terminal.output(f"verify {path}")
    assert "named so by the file" in out


def test_options_that_say_nothing_of_a_certificate_are_refused(
    terminal: Terminal, tmp_path: Path
) -> None:
    for words in (
        ("--bandwidth", "1GB/s"),
        ("--transfers", "fluid"),
        ("--models", "2"),
        ("--memory", "40%", "--alpha", "0.2"),
    ):
        terminal.error(f"verify {STORED}", *words)
    items = {"format": "jettison", "kind": "three-partition", "version": 1, "name": "no"}
    header = header_of(
        "three-partition",
        items | {"values": [26, 26, 26, 34, 44, 44], "target": 100},
        memory_bytes=0,
        formulation={"name": "triples", "version": 1},
        time_ns=None,
        valid_for="all partitions",
    )
    header["resources"] = {}
    # Triples of 26, 34 and 44: none sums to 100; the row of 26 has no column.
    path = str(written(tmp_path / "items", header, ["f 0:1"]))
    terminal.output(f"verify {path}")
    err = terminal.error(f"verify {path} --memory 1GiB")
    assert "the certificate has none to compare with" in err


def test_json_has_hashes_in_full_and_says_of_every_file_whether_it_holds(
    terminal: Terminal, own: str
) -> None:
    solve = "solve remat-chain chain.json --memory 40% --method rotor-exact"
    terminal.run(f"{solve} -o plan.json")
    code, out, err = terminal.run(f"verify {STORED} {own} plan.json none.json --json")
    assert (code, err.count("\n")) == (2, 2)
    stored, mine, plan, missing = json.loads(out)["files"]
    assert (stored["holds"], stored["instance_sha256"]) == (True, SHA256)
    assert stored["instance_is"] == "the bundled one of this name"
    said = "proved: no persistent schedule takes less than 481847475 ns"
    assert stored["statement"].startswith(said)
    assert stored["resources"] == {"memory_bytes": 86124032}
    assert (stored["time_ns"], stored["valid_for"]) == (481847475, "persistent")
    assert mine["instance_sha256"] == terminal.chain.sha256
    assert (mine["name"], mine["time_ns"], mine["infeasible"]) == (own, 361, False)
    # The schedule is for an instance that is not bundled.
    assert (plan["holds"], missing["holds"]) == (False, False)
    assert "add --instance FILE" in plan["reason"]
    code, out, _ = terminal.run("verify plan.json --instance chain.json --json")
    [plan] = json.loads(out)["files"]
    assert (code, plan["instance_sha256"]) == (0, terminal.chain.sha256)
    assert (plan["kind"], plan["time_ns"]) == ("chain-schedule", 361)


def test_a_time_limit_ends_a_check_and_the_other_files_are_looked_at(
    terminal: Terminal, own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = verify_command.verify_certificate

    def slow(path: Path, *others: object) -> object:
        if str(path) == own:
            time.sleep(60)
        return check(path, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(verify_command, "verify_certificate", slow)
    started = time.perf_counter()
    code, out, err = terminal.run(f"verify {own} {STORED} --time-limit 0.5")
    assert time.perf_counter() - started < 50
    assert (code, out.count("\n"), err.count("\n")) == (5, 1, 1)
    assert f"{own}: not checked in the time of --time-limit" in err
    # What is wrong weighs more than what is not known.
    code, _, err = terminal.run(f"verify {own} none.json --time-limit 0.5")
    assert (code, err.count("\n")) == (2, 2)
    for limit in ("0", "-1", "nan", "inf"):
        err = terminal.error(f"verify {STORED} --time-limit {limit}")
        assert "write a positive number of seconds" in err


def count_forever() -> None:
    number = 0
    while True:
        number += 1


def test_a_time_limit_interrupts_and_leaves_nothing_behind() -> None:
    with pytest.raises(TimeLimitError), time_limit(0.05):
        count_forever()
    with time_limit(0.05):
        pass
    with time_limit(None):
        time.sleep(0.1)
