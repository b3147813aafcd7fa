"""Child process of one job, as its parent handles it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import IO, Any

from jettison.solvers.core.out_of_memory import is_out_of_memory

# Without the working directory in front of the modules.
_PROGRAM = (sys.executable, "-P", "-m", "jettison.studies.job_process")
# Several jobs run side by side: libraries must not start a thread for each core in every one.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_MOST_ERROR_BYTES = 4000
_MOST_TRACE = 1000


class Child:
    """Child process in a session of its own that solves a job, with its reports so far.

    Parameters
    ----------
    message
        What it is told.
    wall_limit_s
        Seconds after which it is given up, the start of the process included.
    """

    def __init__(self, message: Mapping[str, object], wall_limit_s: float) -> None:
        self._wall_limit_s = wall_limit_s
        self._deadline = time.monotonic() + wall_limit_s
        self._trace: list[list[Any]] = []
        self._answer: dict[str, Any] | None = None
        self._is_late = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            _PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        # The process may be dead already; its status says why.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """Kill the process and its children; must not be called after `end`."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> dict[str, Any]:
        """Wait for the process; return its answer, or ``failed`` with the reason, and the trace.

        A process that still runs has to be killed first.
        """
        status = self._process.wait()
        answer = self._answer or self._failure(status)
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            # What a dead process has not read cannot be delivered.
            with contextlib.suppress(BrokenPipeError):
                stream and stream.close()
        return {**answer, "trace": self._trace}

    def follow(self) -> None:
        """Read its reports until it has answered, has ended, or its time is over."""
        assert self._process.stdout is not None
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while (left := self._deadline - time.monotonic()) > 0:
                if not selector.select(left):
                    break
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
                if self._answer is not None:
                    return
        self._is_late = True

    def _take(self, message: dict[str, Any]) -> None:
        if "progress" not in message:
            self._answer = message
        elif not self._trace or self._trace[-1][1:] != message["progress"][1:]:
            if len(self._trace) < _MOST_TRACE:
                self._trace.append(message["progress"])
            else:
                # The last one counts most; the others stay as they are.
                self._trace[-1] = message["progress"]

    def _failure(self, status: int) -> dict[str, Any]:
        """Return the reason on one line, and the end of what it wrote to its standard error."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _MOST_ERROR_BYTES))
        errors = self._errors.read().decode(errors="replace").strip()
        if self._is_late:
            reason = f"killed at its wall limit of {self._wall_limit_s:g} s"
        elif is_out_of_memory(errors):
            reason = "out of memory"
        else:
            ended = f"killed by signal {-status}" if status < 0 else f"ended with status {status}"
            last = errors.rpartition("\n")[2]
            reason = f"{ended}: {last or 'it said nothing'}"
        return {"failed": reason, "errors": errors}
