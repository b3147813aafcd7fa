"""`jettison sweep` as a user types it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import plan_study
from tests.cli.terminal import Terminal

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "studies"
STUDY = """
[[grid]]
problem = "remat-chain"
instances = "chain.json"
memory = ["50%", "100%"]
methods = ["rotor", "cut-bound"]
"""


@pytest.fixture
def study(terminal: Terminal) -> str:
    path = terminal.folder / "study.toml"
    path.write_text(STUDY)
    return str(path)


def test_a_study_runs_and_its_results_lie_beside_it(terminal: Terminal, study: str) -> None:
    found = terminal.json(f"sweep {study}")
    assert (found["jobs"], found["done"], found["failed"], found["left_out"]) == (4, 4, 0, 0)
    folder = terminal.folder / "study"
    assert found["folder"] == str(folder)
    assert len(list(ResultFolder(folder).survey().records)) == 4
    assert [path.read_text() for path in (folder / "studies").iterdir()] == [STUDY]
    code, out, err = terminal.run(f"sweep {study}")
    assert (code, err) == (0, "")
    lines = dict(line.split("  ", 1) for line in out.splitlines())
    assert lines["jobs"].strip() == "4: 4 done, 0 failed"
    assert lines["schedules"].strip() == "2, 2 of them meet their bound"
    plan = terminal.json(f"sweep {study} --dry-run --workers 3")
    assert (plan["present"], plan["to_run"], plan["workers"]) == (4, 0, 3)


def test_a_dry_run_prints_the_plan_and_makes_nothing(terminal: Terminal, study: str) -> None:
    plan = terminal.json(f"sweep {study} --dry-run --workers 3")
    assert (plan["jobs"], plan["to_run"], plan["workers"]) == (4, 4, 3)
    # 60 s is the default limit of each.
    assert (plan["expected_s"], plan["at_limits_s"]) == (None, 240)
    assert plan["plan"][0] == "remat-chain small 50% rotor"
    out = terminal.output(f"sweep {study} --dry-run --workers 3")
    assert "at most 80 s on 3 workers" in out
    assert not (terminal.folder / "study").exists()


def test_failures_are_counted_by_reason_and_end_with_4_or_5(terminal: Terminal, study: str) -> None:
    path = Path(study)
    path.write_text("wall_limit_s = 0.01\n" + STUDY)
    code, out, _ = terminal.run(f"sweep {study} --json")
    found = json.loads(out)
    assert (code, found["failed"]) == (5, 4)
    assert found["failures"] == {"killed at its wall limit of 0.01 s": 4}
    path.write_text(STUDY.replace('"100%"]', '"100%", "90%"]'))
    code, out, _ = terminal.run(f"sweep {study} --json")
    assert (code, json.loads(out)["done"]) == (4, 2)
    found = terminal.json(f"sweep {study} --retry-failed")
    assert (found["done"], found["failed"]) == (6, 0)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--workers 2 --scheduler tcp://x:1", "workers: a cluster has its own number"),
        ("-o /proc/none", "cannot make the folder"),
        ("-o /proc/self", "the folder holds other things than results"),
    ],
)
def test_bad_options_end_with_2_and_one_line(
    terminal: Terminal, study: str, words: str, complaint: str
) -> None:
    err = terminal.error(f"sweep {study} {words}")
    assert complaint in err
    assert err.count("\n") == 1


def test_a_scheduler_that_is_not_there_ends_with_2(
    terminal: Terminal, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="needs Dask: pip install 'jettison[distributed]'")
    monkeypatch.setattr("jettison.studies.pools._CONNECT_S", 0.5)
    err = terminal.error(f"sweep {study} --scheduler tcp://127.0.0.1:9")
    assert "no scheduler answers at 'tcp://127.0.0.1:9'" in err
    assert "no scheduler answers" in terminal.error(f"sweep {study} --scheduler nonsense://")


def test_without_dask_a_cluster_is_answered_with_the_install_command(
    terminal: Terminal, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    err = terminal.error(f"sweep {study} --scheduler tcp://127.0.0.1:9")
    assert "pip install 'jettison[distributed]'" in err


def test_a_sweep_on_windows_says_that_it_cannot(
    terminal: Terminal, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jettison.cli.sweep.command.sys.platform", "win32")
    assert "a sweep on Windows" in terminal.error(f"sweep {study}")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_an_example_study_plans_at_least_200_jobs_and_leaves_none_out(
    path: Path, tmp_path: Path
) -> None:
    study = Study.from_toml(path)
    plan = plan_study(study, ResultFolder(tmp_path))
    assert len(plan.jobs) >= 200
    assert plan.refused == ()
    assert len({job.problem for job in plan.jobs.values()}) >= 4
