"""Run of one job from its start to its record, on a local thread or on a worker of a cluster.

The solve runs in a process of its own, which is killed at its wall limit with all that it started,
and whose memory the system limits. Whatever becomes of it, one record says so, but for a job that
is stopped: that leaves nothing, and runs again when the sweep is resumed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.studies.child import Child
from jettison.studies.job import Job
from jettison.studies.result_folder import ResultFolder

_running: dict[Child, str] = {}
_stopped: set[str] = set()
_guard = threading.Lock()


class JobState(StrEnum):
    """State of a job after its run."""

    DONE = "done"
    """Its record has a result: a schedule, a bound, a proof that there is none, or a limit."""

    FAILED = "failed"
    """Its record has a reason."""

    BUSY = "busy"
    """Another process works on it."""

    STOPPED = "stopped"
    """It was stopped, and left no record."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request to a worker to run a job.

    Attributes
    ----------
    sweep
        Identifies the sweep that asks, among all that use the same workers.
    job
        As `Job.to_json` writes it.
    folder
        The result folder: an absolute path.
    wall_limit_s, memory_limit_bytes
        Limits of the process, and of each process that it starts; None for no limit.
    """

    sweep: str
    job: Mapping[str, Any]
    folder: str
    wall_limit_s: float
    memory_limit_bytes: int | None


def run_job(request: Request) -> JobState:
    """Run a job unless its record is there, and write the record.

    Raises
    ------
    FileNotFoundError
        If the folder is not there.
    InputError
        If the record cannot be written.
    """
    job, folder = Job.from_json(request.job), ResultFolder(Path(request.folder))
    with folder.claimed(job.key) as ours:
        if not ours:
            return JobState.BUSY
        # Another process may have finished it before this one got the claim. What cannot be read
        # is left to the sweep, which looks at every record and says what it sets aside.
        if folder.has(job.key):
            return _state_of(folder, job.key)
        # Of a job that was killed before it had a record.
        folder.schedule_path(job.key).unlink(missing_ok=True)
        folder.certificate_path(job.key).unlink(missing_ok=True)
        started = time.time()
        outcome = _outcome(request)
        if outcome is None:
            return JobState.STOPPED
        state = JobState.FAILED if "failed" in outcome else JobState.DONE
        record = {
            "job": job.to_json(),
            "state": str(state),
            "started": round(started, 3),
            "wall_s": round(time.time() - started, 3),
            **outcome,
        }
        folder.write(job.key, record)
        return state


def _state_of(folder: ResultFolder, key: str) -> JobState:
    try:
        return JobState(folder.record(key)["state"])
    except InputError:
        return JobState.DONE


def stop_jobs(sweep: str) -> None:
    """Kill the jobs of a sweep in this process; no further ones start here.

    They leave no record.
    """
    with _guard:
        _stopped.add(sweep)
        for child, owner in _running.items():
            if owner == sweep:
                child.kill()


def _outcome(request: Request) -> dict[str, Any] | None:
    """Return the rest of the record, or None if the sweep was stopped."""
    message = {
        "job": request.job,
        "folder": request.folder,
        "memory_limit_bytes": request.memory_limit_bytes,
    }
    with _guard:
        if request.sweep in _stopped:
            return None
        child = Child(message, request.wall_limit_s)
        _running[child] = request.sweep
    try:
        child.follow()
    finally:
        with _guard:
            # From here on its number may become that of another process.
            del _running[child]
            child.kill()
        outcome = child.end()
    if "failed" in outcome and request.sweep in _stopped:
        return None
    return outcome
