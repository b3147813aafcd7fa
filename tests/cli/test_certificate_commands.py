"""`jettison bound --certificate`, `jettison compare --certify`, and what `jettison verify` says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import jettison as jt
from jettison import Bound, RematChain, ScheduleClass, Verdict
from jettison.cli.certificate_output import certificate_rows, write_certificate
from jettison.solvers.core import certified
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.proof.programs import certify_program
from tests.cli.terminal import CommandLine, Terminal

# The chain of the terminal: eight layers of 10 to 17 ns and 20 ns, 300 bytes saved each.
# In 40 % persistent schedules take 361 ns, and the fastest of all, which drop values for nothing,
# 355, as a search finds; no cut proves as much.
CHAIN = "remat-chain chain.json --memory 40%"


@pytest.fixture
def certificate(terminal: Terminal) -> Path:
    return terminal.folder / "proof.gz"


def test_a_bound_is_written_with_its_proof_and_verified(
    terminal: Terminal, certificate: Path
) -> None:
    code, out, err = terminal.run(f"bound {CHAIN} --certificate {certificate}")
    assert (code, err) == (0, "")
    rows = dict(line.split("  ", 1) for line in out.splitlines())
    optimum_ns = terminal.json(f"solve {CHAIN} --method rotor-exact")["time_ns"]
    assert optimum_ns == 361
    assert f" {optimum_ns} ns (" in rows["lower bound"]
    assert rows["certified bound"].strip() == f"{optimum_ns} ns, valid for persistent"
    # Of no other class is as large a bound known.
    assert "not certified" not in rows
    assert f"{certificate.stat().st_size} bytes, verified in" in rows["certificate"]
    code, out, err = terminal.run(f"verify {certificate}")
    assert (code, err) == (0, "")
    assert out.startswith(
        f"{certificate}: proved: no persistent schedule takes less than {optimum_ns} ns, of "
        f"remat-chain small, memory_bytes "
    )


def test_what_is_certified_beside_a_larger_bound_says_how_much_is_missing(
    terminal: Terminal, certificate: Path
) -> None:
    # The search proves 355 ns; no moment of the chain forces more than 345.
    out = terminal.output(f"bound {CHAIN} --method unrestricted --certificate {certificate}")
    rows = dict(line.split("  ", 1) for line in out.splitlines())
    assert rows["lower bound"].strip() == "355 ns (unrestricted)"
    assert rows["certified bound"].strip() == "345 ns, valid for all schedules"
    # 10 of 355.
    missing = "the 2.82 % from there to the lower bound of unrestricted"
    assert rows["not certified"].strip() == missing


def test_what_is_certified_of_fewer_schedules_than_the_bound_says_so(
    terminal: Terminal, certificate: Path
) -> None:
    problem = RematChain(terminal.chain, "60%")
    verdict = jt.bound(problem, method="unrestricted")
    found = certify_program(problem, ScheduleClass.PERSISTENT, _persistent(verdict), Clock(5))
    assert found is not None
    assert verdict.found_bound is not None
    assert (found.time_ns, verdict.found_bound.time_ns) == (316, 316)
    rows = dict(certificate_rows(verdict, write_certificate(found, certificate)))
    assert rows["certified bound"] == "316 ns, valid for persistent"
    assert rows["not certified"] == "that the lower bound is valid for all schedules"


def _persistent(verdict: Verdict) -> list[Bound]:
    return [replace(bound, valid_for=ScheduleClass.PERSISTENT) for bound in verdict.bounds]


def test_json_tells_the_certified_bound_from_the_other_one(
    terminal: Terminal, certificate: Path
) -> None:
    verdict = terminal.json(f"bound {CHAIN} --certificate {certificate}")
    assert verdict["certified_lower_bound_ns"] == verdict["lower_bound_ns"]
    assert verdict["certified_valid_for"] == "persistent"
    assert verdict["certificate"] == str(certificate)
    assert verdict["certificate_bytes"] == certificate.stat().st_size
    without = terminal.json(f"bound {CHAIN}")
    assert without["certified_lower_bound_ns"] is None
    assert "certificate" not in without


def test_a_schedule_is_judged_by_what_is_certified_for_its_class(
    terminal: Terminal, certificate: Path
) -> None:
    terminal.run(f"solve {CHAIN} --method rotor-exact -o mine.json")
    words = f"--schedule mine.json --certificate {certificate}"
    verdict = terminal.json(f"bound {CHAIN} {words} --method rotor-exact")
    assert (verdict["status"], verdict["gap"]) == ("valid", 0)
    # Of two equal bounds for persistent schedules, the one that anybody can check.
    assert verdict["evidence"] == "checked certificate"


def test_that_nothing_fits_is_certified_with_status_3(
    terminal: Terminal, certificate: Path
) -> None:
    words = f"remat-chain chain.json --memory 20% --certificate {certificate}"
    code, out, _ = terminal.run(f"bound {words}")
    assert code == 3
    assert "nothing fits (" in out
    assert "proved: there is no schedule" in terminal.run(f"verify {certificate}")[1]


def test_the_time_limit_is_the_certificates_own_and_without_one_there_is_no_file(
    terminal: Terminal, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certified, "certificate_for", lambda *_: None)
    monkeypatch.setattr("jettison.solvers.core.verdict.certificate_for", lambda *_: None)
    words = f"{CHAIN} --certificate {certificate}"
    code, out, _ = terminal.run(f"bound {words}")
    assert code == 5
    assert "none: nothing could be proved in the time" in out
    assert not certificate.exists()
    code, out, _ = terminal.run(f"bound {words} --json")
    assert (code, json.loads(out)["certificate"]) == (5, None)


def test_a_problem_without_certificates_says_so_before_any_work(
    terminal: Terminal, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = "jettison.cli.certificate_output.can_be_certified"
    with monkeypatch.context() as patch:
        patch.setattr(without, lambda _: False)
        err = terminal.error(f"bound {CHAIN} --certificate {certificate}")
    assert "bounds of remat-chain have no certificates" in err
    err = terminal.error(f"bound {CHAIN} --certificate /nowhere/at/all")
    assert "the folder does not exist" in err
    err = terminal.error(f"bound {CHAIN} --certificate {certificate.parent}")
    assert "a folder has this name" in err


def test_files_of_one_name_are_told_apart_and_a_folder_of_them_is_no_set(
    terminal: Terminal, certificate: Path
) -> None:
    terminal.run(f"bound {CHAIN} --certificate {certificate}")
    folder = terminal.folder / "copies"
    folder.mkdir()
    copy = folder / certificate.name
    copy.write_bytes(certificate.read_bytes())
    code, out, err = terminal.run(f"verify {certificate} {copy}")
    assert (code, err) == (0, "")
    assert [line.split(": proved")[0] for line in out.splitlines()] == [str(certificate), str(copy)]
    code, out, err = terminal.run(f"verify {folder} {copy}")
    assert (code, out.count("\n")) == (2, 1)
    assert f"error: {folder}: the folder has no index.json" in err


def test_compare_shows_what_is_certified_beside_every_bound(terminal: Terminal) -> None:
    words = "remat-chain chain.json --memory 20%,40% --methods rotor,store-all"
    code, out, err = terminal.run(f"compare {words} --certify --wide")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    rows = {
        (line[0], line[3]): line for line in lines if len(line) > 4 and line[0] in {"20%", "40%"}
    }
    assert "infeasible" in rows["20%", "rotor"]
    assert "certified" in out
    grouped = terminal.output(f"compare {words} --certify").splitlines()
    assert "certified: infeasible" in grouped
    results = terminal.json(f"compare {words} --certify")["results"]
    found = {(item["memory_bytes"], item["method"]): item for item in results}
    least, most = sorted({memory for memory, _ in found})
    assert found[most, "rotor"]["certified_lower_bound_ns"] == found[most, "rotor"]["time_ns"]
    assert found[least, "rotor"]["certified_lower_bound_ns"] is None
    assert found[least, "rotor"]["status"].startswith("infeasible")
    without = terminal.json(f"compare {words}")["results"]
    assert {item["certified_lower_bound_ns"] for item in without} == {None}


def test_a_changed_certificate_is_refused(terminal: Terminal) -> None:
    path = terminal.folder / "proof"
    terminal.run(f"bound {CHAIN} --certificate {path}")
    text = path.read_text()
    time_ns = json.loads(text.splitlines()[1])["claim"]["time_ns"]
    path.write_text(text.replace(f'"time_ns":{time_ns}', f'"time_ns":{time_ns + 1}'))
    assert "the steps prove a cost of" in terminal.error(f"verify {path}")


def test_schedules_find_their_bundled_instance_by_its_hash(
    tmp_path: Path, typed: CommandLine
) -> None:
    typed.output("solve remat-chain resnet18-b4-224-cpu --memory 80% -o 0.json")
    graph = "remat-graph resnet18-b4-224-cpu --memory 100% --method store-all"
    typed.output(f"solve {graph} -o 1.json")
    # Of another name, as a copy of the instance has it.
    document = json.loads((tmp_path / "0.json").read_text()) | {"instance": "other"}
    (tmp_path / "0.json").write_text(json.dumps(document))
    out = typed.output("verify 0.json 1.json").splitlines()
    known = "a valid schedule for resnet18-b4-224-cpu: 477169817 ns, peak"
    assert out[0].startswith(f"{tmp_path / '0.json'}: {known}")
    assert "no limit (remat-chain, instance " in out[0]
    assert "(remat-graph, instance " in out[1]
    # 80 % of the 108824064 bytes that saving everything needs, rounded down.
    said = typed.output("verify 0.json --memory 80%")
    assert "the limit 87059251 (remat-chain, " in said
    code, _, err = typed.run("verify 0.json 1.json --memory 60%")
    assert code == 2
    assert "out of memory" in err
    # The graph keeps everything in all of its memory, which 60% of it is not.
    assert err.count("\n") == 2


def test_every_kind_of_schedule_is_verified(terminal: Terminal) -> None:
    kinds = [
        ("remat-chain", "chain.json", ()),
        ("remat-offload-chain", "chain.json", ("--bandwidth", "10GB/s")),
        ("weight-offload", "chain.json", ("--bandwidth", "10GB/s")),
        ("remat-graph", "graph.json", ()),
    ]
    for number, (problem, instance, link) in enumerate(kinds):
        name = f"{number}.json"
        code, _, err = terminal.run(f"solve {problem} {instance} --memory 100%", *link, "-o", name)
        assert code == 0, err
        code, out, err = terminal.run(f"verify {name} --instance {instance} --memory 100%", *link)
        assert (code, err) == (0, "")
        assert f"({problem}, instance " in out
        assert "add --instance FILE" in terminal.error(f"verify {name}")
    assert "needs a link" in terminal.error("verify 1.json --instance chain.json")
    # Of several instances the one with the hash is taken, and each file is looked at.
    code, out, err = terminal.run(
        "verify none.json 0.json 3.json --instance chain.json --instance graph.json"
    )
    assert (code, out.count("a valid schedule"), err.count("\n")) == (2, 2, 1)
