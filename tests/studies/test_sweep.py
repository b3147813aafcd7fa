"""A sweep from start to end, twice at once, interrupted and killed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.solvers.remat_chain.rotor import RotorParams
from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import plan_study
from tests.studies.driver import Driver, Starts, records, wait_until
from tests.studies.tiny_study import job_of, swept, unfinished, write_study


@pytest.fixture
def starts(tmp_path: Path) -> Starts:
    folder = tmp_path / "at_start"
    folder.mkdir()
    return Starts(folder, sleep_s=0.5)


def test_every_job_gets_one_record_and_the_instance_and_schedule_lie_beside(tmp_path: Path) -> None:
    path = write_study(tmp_path, methods=("rotor", "revolve", "cut-bound"))
    state = swept(path, tmp_path / "results")
    assert (state.total, state.done, state.failed) == (3, 3, 0)
    folder = ResultFolder(tmp_path / "results")
    # A bound has no schedule.
    assert len(list(folder.survey().records)) == 3
    assert len(list((folder.path / "schedules").iterdir())) == 2
    assert folder.instance(job_of().instance_sha256).name == "small"
    assert list((folder.path / "claims").iterdir()) == []


def test_a_second_run_starts_nothing(tmp_path: Path, starts: Starts) -> None:
    path, results = write_study(tmp_path, seeds=2), tmp_path / "results"
    assert Driver(path, results, starts).end()[0] == 0
    before = {record: record.read_bytes() for record in records(results)}
    code, out, _ = Driver(path, results, starts, "--json").end()
    assert code == 0
    assert json.loads(out)["done"] == 2
    assert len(starts.pids) == 2
    assert {record: record.read_bytes() for record in records(results)} == before


def test_a_study_that_grows_runs_what_is_new(tmp_path: Path) -> None:
    results = tmp_path / "results"
    swept(write_study(tmp_path, seeds=1), results)
    first = records(results)[0]
    before = first.read_bytes()
    state = swept(write_study(tmp_path, seeds=2), results)
    assert (state.total, len(records(results))) == (2, 2)
    assert first.read_bytes() == before


def test_a_failure_stays_until_it_is_asked_for_again(tmp_path: Path) -> None:
    results = tmp_path / "results"
    # A process takes longer than this to start.
    short = write_study(tmp_path, seeds=1, head="wall_limit_s = 0.01\n")
    state = swept(short, results)
    assert (state.done, state.failed) == (0, 1)
    # Limits of the process are not part of what the job is.
    longer = write_study(tmp_path, seeds=1, head="wall_limit_s = 60\n")
    assert swept(longer, results).failed == 1
    state = swept(longer, results, repeats_failures=True)
    assert (state.done, state.failed) == (1, 0)


def test_what_a_worker_cannot_write_is_recorded_and_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    path = write_study(tmp_path, methods=("rotor", "revolve"))
    folder = ResultFolder(tmp_path / "results")
    folder.create()
    failing = job_of("rotor").key
    # A file where its schedule goes would be replaced; a folder cannot be.
    (folder.schedule_path(failing) / "inside").mkdir(parents=True)
    state = swept(path, folder.path)
    assert (state.done, state.failed) == (1, 1)
    assert "Error" in folder.record(failing)["failed"]


def test_cells_that_are_no_jobs_are_left_out_and_named(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    path.write_text(path.read_text().replace('"remat-chain"', '["remat-chain", "multi-model"]'))
    path.write_text(path.read_text().replace('methods = ["rotor"]', ""))
    plan = plan_study(Study.from_toml(path), ResultFolder(tmp_path / "results"))
    assert {cell.problem for cell, _ in plan.refused} == {"multi-model"}
    assert {job.problem for job in plan.jobs.values()} == {"remat-chain"}


def test_a_study_without_any_job_is_refused(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    path.write_text(path.read_text().replace('memory = ["50%"]', "models = 2"))
    with pytest.raises(InputError, match="models"):
        plan_study(Study.from_toml(path), ResultFolder(tmp_path / "results"))


def test_a_study_without_memory_is_told_where_and_in_no_words_of_a_command(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    path.write_text(path.read_text().replace('memory = ["50%"]', ""))
    with pytest.raises(InputError) as refused:
        plan_study(Study.from_toml(path), ResultFolder(tmp_path / "results"))
    assert str(refused.value) == (
        f"{path}: grid[0].memory: no amount is given; "
        "give an amount (4GiB), a share (40%), a ratio alpha, or a card"
    )


def test_two_sweeps_on_one_folder_share_the_jobs_and_double_none(
    tmp_path: Path, starts: Starts
) -> None:
    path, results = write_study(tmp_path, seeds=4), tmp_path / "results"
    drivers = [Driver(path, results, starts, "--workers", "2", "--json") for _ in range(2)]
    for driver in drivers:
        code, out, errors = driver.end()
        assert code == 0, errors
        assert json.loads(out)["done"] == 4
    assert len(records(results)) == 4
    assert len(starts.pids) == 4
    assert unfinished(results) == []


def test_a_killed_driver_takes_its_jobs_with_it_and_resuming_completes(
    tmp_path: Path, starts: Starts
) -> None:
    path, results = write_study(tmp_path, seeds=4), tmp_path / "results"
    driver = Driver(path, results, starts, "--workers", "2")
    wait_until(lambda: len(records(results)) >= 1 and len(starts.pids) >= 3)
    driver.signal(signal.SIGKILL)
    wait_until(starts.all_gone)
    kept = {record: record.read_bytes() for record in records(results)}
    assert 1 <= len(kept) < 4
    before = len(starts.pids)
    code, _, errors = Driver(path, results, starts).end()
    assert code == 0, errors
    assert len(records(results)) == 4
    # What had a record did not run again.
    assert len(starts.pids) - before == 4 - len(kept)
    assert all(record.read_bytes() == content for record, content in kept.items())
    assert unfinished(results) == []
    assert list((results / "claims").iterdir()) == []


def test_ctrl_c_kills_the_running_jobs_which_leave_no_record(
    tmp_path: Path, starts: Starts
) -> None:
    path, results = write_study(tmp_path, seeds=3), tmp_path / "results"
    driver = Driver(path, results, starts, "--workers", "2")
    wait_until(lambda: len(starts.pids) == 2)
    code, _, errors = driver.signal(signal.SIGINT)
    assert code == 130
    assert "jobs have a record; the same command goes on with the rest" in errors
    assert "Traceback" not in errors
    assert starts.all_gone()
    assert records(results) == []
    assert Driver(path, results, starts).end()[0] == 0
    assert len(records(results)) == 3


def test_a_record_names_the_parameters_that_its_method_had(tmp_path: Path) -> None:
    path, results = write_study(tmp_path), tmp_path / "results"
    text = path.read_text()
    path.write_text(f"{text}\n[grid.params.rotor]\nfirst_slots = 40\n\n{text}")
    swept(path, results)
    coarse, usual = sorted(
        (json.loads(record.read_text()) for record in records(results)),
        key=lambda record: "params" not in record["job"],
    )
    assert coarse["job"]["params"] == {"first_slots": 40}
    assert coarse["params_sha256"] == RotorParams(first_slots=40).sha256
    assert usual["params_sha256"] == RotorParams().sha256
    assert coarse["key"] != usual["key"]
