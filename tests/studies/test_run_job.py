"""One job: its record, and every way in which its process can end."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from jettison import InputError, load, load_schedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.resources import Resources
from jettison.studies import child
from jettison.studies.job import Job, present_versions
from jettison.studies.result_folder import ResultFolder
from jettison.studies.run_job import JobState, Request, run_job, stop_jobs
from jettison.studies.study import Cell
from tests.studies.driver import is_alive, wait_until
from tests.studies.tiny_study import job_of, request_of, small_chain, unfinished


def failure_of(folder: Path, job: Job) -> str:
    record = ResultFolder(folder).record(job.key)
    assert record["state"] == "failed"
    reason: str = record["failed"]
    assert "\n" not in reason
    return reason


def failed(folder: Path, wall_limit_s: float = 60.0) -> str:
    """Run a job that fails, and return why."""
    job = job_of()
    assert run_job(request_of(job, folder, wall_limit_s=wall_limit_s)) is JobState.FAILED
    return failure_of(folder, job)


def run_instead(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Let the process of a job do something else."""
    monkeypatch.setattr(child, "_PROGRAM", (sys.executable, "-c", program))


def test_a_record_holds_the_result_the_bounds_and_what_it_took(tmp_path: Path) -> None:
    job = job_of("rotor-exact")
    assert run_job(request_of(job, tmp_path)) is JobState.DONE
    record = ResultFolder(tmp_path).record(job.key)
    assert record["result"]["status"] == "optimal-persistent"
    assert Job.from_json(record["job"]) == job
    schedule = load_schedule(ResultFolder(tmp_path).schedule_path(job.key), small_chain())
    assert schedule.replay(small_chain()).time_ns == record["result"]["time_ns"]
    assert {bound["method"] for bound in record["bounds"]} >= {"base-time"}
    assert 0 < record["cpu_s"] < record["wall_s"] + 1
    assert record["peak_memory_bytes"] > 2**20
    assert unfinished(tmp_path) == []


def test_a_job_with_a_record_does_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of()
    run_job(request_of(job, tmp_path))
    run_instead(monkeypatch, "raise SystemExit('it runs')")
    assert run_job(request_of(job, tmp_path)) is JobState.DONE


def test_a_job_that_another_process_has_claimed_is_left_to_it(tmp_path: Path) -> None:
    job = job_of()
    request = request_of(job, tmp_path)
    with ResultFolder(tmp_path).claimed(job.key) as ours:
        assert ours
        assert run_job(request) is JobState.BUSY
    assert not ResultFolder(tmp_path).has(job.key)


def test_a_job_past_its_wall_limit_is_killed_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(monkeypatch, "import time; time.sleep(60)")
    assert failed(tmp_path, wall_limit_s=0.2) == "killed at its wall limit of 0.2 s"


def test_a_wall_limit_also_ends_what_the_job_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = tmp_path / "number"
    run_instead(
        monkeypatch,
        "import subprocess, sys, pathlib\n"
        "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(number)!r}).write_text(str(started.pid))\n"
        "started.wait()",
    )
    results = tmp_path / "results"
    failed(results, wall_limit_s=1.0)
    wait_until(lambda: not is_alive(int(number.read_text())))


def test_a_job_beyond_its_memory_says_so(tmp_path: Path) -> None:
    # Python, NumPy and their libraries fill this much before the instance is read: whatever asks
    # for more address space then fails.
    cell = Cell(
        problem="remat-chain",
        instance="bert-144-b16-table1",
        resources=Resources("50%"),
        method="rotor",
        options=SolveOptions(),
    )
    instance = load(cell.instance)
    job = Job.of(cell, instance, present_versions())
    request = request_of(job, tmp_path, memory_limit_bytes=64 * 2**20)
    ResultFolder(tmp_path).add_instance(instance)
    assert run_job(request) is JobState.FAILED
    assert failure_of(tmp_path, job) == "out of memory"


def test_a_job_that_crashes_names_the_signal_and_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(
        monkeypatch,
        "import os\nos.write(2, b'first\\nlast\\n')\nos.kill(os.getpid(), 11)",
    )
    assert failed(tmp_path) == "killed by signal 11: last"
    assert ResultFolder(tmp_path).record(job_of().key)["errors"] == "first\nlast"


def test_a_job_that_raises_names_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_instead(monkeypatch, "raise ValueError('a defect')")
    assert failed(tmp_path) == "ended with status 1: ValueError: a defect"


def test_a_job_that_ends_without_a_word_says_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(monkeypatch, "pass")
    assert failed(tmp_path) == "ended with status 0: it said nothing"


def test_bad_input_inside_a_job_is_its_reason(tmp_path: Path) -> None:
    job = job_of()
    request = request_of(job, tmp_path)
    path = ResultFolder(tmp_path).instance_path(job.instance_sha256)
    path.write_text(path.read_text().replace('"small"', '"smaller"').replace("300", "301"))
    assert run_job(request) is JobState.FAILED
    assert failure_of(tmp_path, job).startswith(f"bad input: {path}: its SHA-256 is ")


def test_other_versions_than_the_job_names_are_refused(tmp_path: Path) -> None:
    document = job_of().to_json()
    document["versions"] = {**present_versions(), "highspy": "0.0.1"}
    job = Job.from_json(document)
    request_of(job, tmp_path)
    assert run_job(Request("test", document, str(tmp_path), 60.0, None)) is JobState.FAILED
    assert failure_of(tmp_path, job).startswith("this worker has other versions")


def test_what_a_library_prints_is_not_taken_for_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(
        monkeypatch,
        "import os\n"
        "from jettison.studies.job_process import JobProcess\n"
        "process = JobProcess()\n"
        "os.write(1, b'a banner\\n')\n"
        "process.serve()",
    )
    assert run_job(request_of(job_of(), tmp_path)) is JobState.DONE


def test_stopping_a_sweep_kills_its_jobs_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(monkeypatch, "import time; time.sleep(2)")
    states: dict[str, JobState] = {}
    requests = {
        sweep: request_of(job_of(seed=seed), tmp_path, sweep=sweep)
        for seed, sweep in enumerate(("stopped", "kept"))
    }
    threads = [
        threading.Thread(target=lambda s=sweep: states.update({s: run_job(requests[s])}))
        for sweep in requests
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(list((tmp_path / "claims").iterdir())) == 2)
    stop_jobs("stopped")
    for thread in threads:
        thread.join()
    assert states == {"stopped": JobState.STOPPED, "kept": JobState.FAILED}
    assert not ResultFolder(tmp_path).has(job_of(seed=0).key)
    # It starts no more of them.
    assert run_job(requests["stopped"]) is JobState.STOPPED


def test_a_folder_that_is_not_there_is_an_error_of_the_worker(tmp_path: Path) -> None:
    request = Request("test", job_of().to_json(), str(tmp_path / "nowhere"), 60.0, None)
    with pytest.raises(FileNotFoundError):
        run_job(request)


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jettison.studies import file_lock

    def refuse(*unused: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(file_lock.fcntl, "flock", refuse)
    with pytest.raises(InputError, match="No locks available"):
        request_of(job_of(), tmp_path)
