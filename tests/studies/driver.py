"""A sweep in a process of its own, which tests kill; and a log of the processes that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_COMMAND = [sys.executable, "-c", "from jettison.cli.main import main; main()", "sweep"]
# Python runs this at its start. A job that sleeps takes its time without any work.
_AT_START = """
import os, sys, time
if "jettison.studies.job_process" in sys.orig_argv:
    with open(os.environ["JOB_STARTS"], "a") as log:
        log.write(f"{os.getpid()}\\n")
    time.sleep(float(os.environ["JOB_SLEEP"]))
"""
_PATIENCE_S = 60.0


class Starts:
    """Numbers of the processes of jobs, which leave them here when they start.

    Parameters
    ----------
    folder
        An existing folder of its own.
    sleep_s
        How long each job waits before it begins.
    """

    def __init__(self, folder: Path, sleep_s: float = 0.0) -> None:
        (folder / "sitecustomize.py").write_text(_AT_START)
        self._log = folder / "starts"
        self._log.touch()
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "JOB_STARTS": str(self._log),
            "JOB_SLEEP": f"{sleep_s}",
        }

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self._log.read_text().split()]

    def all_gone(self) -> bool:
        return not any(is_alive(pid) for pid in self.pids)


class Driver:
    """``jettison sweep`` as a process."""

    def __init__(self, study: Path, results: Path, starts: Starts, *words: str) -> None:
        self.process = subprocess.Popen(
            [*_COMMAND, str(study), "-o", str(results), *words],
            env=starts.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, patience_s: float | None = _PATIENCE_S) -> tuple[int, str, str]:
        """Wait for its end; return status, output and errors."""
        out, errors = self.process.communicate(timeout=patience_s)
        return self.process.returncode, out, errors

    def signal(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        return self.end()


def records(folder: Path) -> list[Path]:
    return sorted((folder / "jobs").glob("[!.]*.json"))


def wait_until(holds: Callable[[], bool], patience_s: float = _PATIENCE_S) -> None:
    """Wait for something that happens in time."""
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; on Linux, one that nobody waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        # It has just ended; or this is another system, where it runs.
        return not Path("/proc/self").exists()
