"""A Dask cluster on this machine: a scheduler and workers, each a process that tests may kill."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.studies.driver import wait_until


class Cluster:
    """A scheduler, and workers of one thread each without a nanny that would start them again."""

    def __init__(self, folder: Path, environment: Mapping[str, str], workers: int = 2) -> None:
        self._folder, self._environment = folder, environment
        self._log = (folder / "log").open("ab")
        self._file = folder / "scheduler.json"
        self.scheduler = self._start(
            "dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self._file)
        )
        wait_until(self._file.exists)
        self.address: str = json.loads(self._file.read_text())["address"]
        self.workers = [self.add_worker() for _ in range(workers)]

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker."""
        local = ("--local-directory", str(self._folder), "--memory-limit", "0")
        return self._start(
            "dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *local
        )

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self._log.close()

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *words],
            env=self._environment,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
