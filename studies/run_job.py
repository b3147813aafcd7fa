"""One job from its start to its record: the same on a local thread and on a worker of a cluster.

The solve runs in a process of its own, which is killed at its wall limit with all that it started,
and whose memory the system limits. Whatever becomes of it, one record says so, but for a job that
is stopped: that leaves nothing, and runs again when the sweep is resumed.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from jettison.studies.job import Job
from jettison.studies.result_folder import ResultFolder

_PROGRAM = [sys.executable, "-m", "jettison.studies.job_process"]
# Several jobs run side by side: libraries must not start a thread for each core in every one.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_MOST_ERROR_BYTES = 4000
_MOST_TRACE = 1000

_running: set[subprocess.Popen[bytes]] = set()
_guard = threading.Lock()
_stopped = threading.Event()


class JobState(StrEnum):
    """What became of a job."""

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
    """What a worker is told: a job, the folder, and the limits of its process."""

    job: Mapping[str, Any]
    folder: str
    wall_limit_s: float
    memory_limit_bytes: int | None
    repeats_failures: bool


def run_job(request: Request) -> JobState:
    """Run a job unless its record is there, and write the record."""
    job, folder = Job.from_json(request.job), ResultFolder(Path(request.folder))
    with folder.claimed(job.key) as ours:
        if not ours:
            return JobState.BUSY
        # Another process may have finished it before this one got the claim.
        if folder.has(job.key):
            state = JobState(folder.record(job.key)["state"])
            if state is JobState.DONE or not request.repeats_failures:
                return state
        started = time.time()
        outcome = _Child(request).outcome()
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


def stop_running_jobs() -> None:
    """Kill the jobs that run in this process, and start no more; their records are not written."""
    with _guard:
        _stopped.set()
        for process in _running:
            _kill(process)


def allow_jobs() -> None:
    """Take back `stop_running_jobs`, for the next sweep of the same process."""
    _stopped.clear()


class _Child:
    """A process and what it has said so far."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._trace: list[list[Any]] = []
        self._answer: dict[str, Any] | None = None

    def outcome(self) -> dict[str, Any] | None:
        """Run it to its end; return the rest of the record, or None if it was stopped."""
        with tempfile.TemporaryFile() as errors:
            process = self._started(errors)
            if process is None:
                return None
            try:
                in_time = self._follow(process)
            finally:
                with _guard:
                    _running.discard(process)
                    _kill(process)
                with contextlib.suppress(BrokenPipeError):
                    process.stdin and process.stdin.close()
                process.stdout and process.stdout.close()
                status = process.wait()
            if self._answer is None and _stopped.is_set():
                return None
            answer = self._answer or {"failed": self._reason(in_time, status, _tail(errors))}
        return {**answer, "trace": self._trace}

    def _started(self, errors: IO[bytes]) -> subprocess.Popen[bytes] | None:
        request = self._request
        with _guard:
            if _stopped.is_set():
                return None
            process = subprocess.Popen(
                _PROGRAM,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **_ONE_THREAD},
                start_new_session=True,
            )
            _running.add(process)
        line = json.dumps(
            {
                "job": request.job,
                "folder": request.folder,
                "memory_limit_bytes": request.memory_limit_bytes,
            }
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        return process

    def _follow(self, process: subprocess.Popen[bytes]) -> bool:
        """Take in what it says until it ends; return whether it ended before its wall limit."""
        assert process.stdout is not None
        deadline = time.monotonic() + self._request.wall_limit_s
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if not selector.select(left):
                    break
                data = os.read(process.stdout.fileno(), 1 << 16)
                if not data:
                    return True
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
                if self._answer is not None:
                    return True
        return False

    def _take(self, message: dict[str, Any]) -> None:
        if "progress" not in message:
            self._answer = message
        elif not self._trace or self._trace[-1][1:] != message["progress"][1:]:
            if len(self._trace) < _MOST_TRACE:
                self._trace.append(message["progress"])
            else:
                # The last one counts most; the others stay as they are.
                self._trace[-1] = message["progress"]

    def _reason(self, in_time: bool, status: int, errors: str) -> str:
        if not in_time:
            return f"killed at its wall limit of {self._request.wall_limit_s:g} s"
        if "MemoryError" in errors or "bad_alloc" in errors or "Cannot allocate" in errors:
            return "out of memory"
        ended = f"killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"{ended}: {errors or 'it said nothing'}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started; it leads a session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _tail(errors: IO[bytes]) -> str:
    """Return the end of what was written to the standard error."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _MOST_ERROR_BYTES))
    return errors.read().decode(errors="replace").strip()
