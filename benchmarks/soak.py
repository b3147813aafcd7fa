"""Soak test: a sweep of 2000 small jobs whose processes are killed loses and repeats nothing.

Two drivers work on one folder. Now and then something is killed with SIGKILL: a driver, which is
started again, or the process of a job, or with ``--cluster`` a worker of a Dask cluster, which is
replaced. At the end one run with ``--retry-failed`` repeats the jobs whose process was killed. Then

- every job of the plan has a record with a result (nothing lost);
- no record ever changed once it had a result, and no job began again after it had one: processes
  were started once for each job, and once more for each that a kill ended (nothing doubled);
- nothing half-written, no claim and no process is left.

    .venv/bin/python -m benchmarks.soak [--jobs 2000] [--cluster] [--seed 0] FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import plan_study
from tests.studies.cluster import Cluster
from tests.studies.driver import Driver, Starts, is_alive, records
from tests.studies.tiny_study import unfinished, write_study

_METHODS = ("rotor", "revolve", "chen-sqrt", "cut-bound", "store-all")
_WORKERS = 2
_LONGEST_CALM_S = 25.0


class Soak:
    """Run of the soak test: drivers, processes killed, and the records as first seen.

    Parameters
    ----------
    folder
        For everything.
    jobs
        How many jobs, a multiple of the number of methods.
    rng
        What to kill, and when.
    """

    def __init__(self, folder: Path, jobs: int, rng: random.Random, *, on_cluster: bool) -> None:
        self._rng = rng
        for name in ("at_start", "cluster"):
            (folder / name).mkdir(parents=True)
        self.starts = Starts(folder / "at_start")
        self.study = write_study(folder, methods=_METHODS, seeds=jobs // len(_METHODS))
        self.results = folder / "results"
        self._cluster = Cluster(folder / "cluster", self.starts.environment) if on_cluster else None
        self.killed = dict.fromkeys(("drivers", "jobs", "workers"), 0)
        self._seen: dict[str, str] = {}
        self._drivers = [self._driver() for _ in range(2)]

    def run(self) -> None:
        """Kill until the drivers have nothing left to do, then repeat what failed."""
        while any(driver.process.poll() is None for driver in self._drivers):
            time.sleep(self._rng.uniform(1.0, _LONGEST_CALM_S))
            self._kill_something()
            self.look()
        for driver in self._drivers:
            code, _, errors = driver.end()
            assert code in {0, 4, -signal.SIGKILL}, errors
        code, out, errors = self._driver("--retry-failed").end(patience_s=None)
        assert code == 0, errors
        sys.stdout.write(out)
        self.look()
        if self._cluster:
            self._cluster.close()

    def look(self) -> None:
        """Compare all records with what they were."""
        for path in records(self.results):
            data = path.read_bytes()
            if b'"state": "done"' in data:
                digest = hashlib.sha256(data).hexdigest()
                assert self._seen.setdefault(path.name, digest) == digest, f"{path} has changed"

    def _driver(self, *words: str) -> Driver:
        cluster = self._cluster
        where = (
            ["--workers", f"{_WORKERS}"] if cluster is None else ["--scheduler", cluster.address]
        )
        return Driver(self.study, self.results, self.starts, *where, *words)

    def _kill_something(self) -> None:
        kinds = ["drivers", "jobs"] if self._cluster is None else ["drivers", "jobs", "workers"]
        kind = self._rng.choice(kinds)
        if kind == "drivers":
            place = self._rng.randrange(len(self._drivers))
            driver = self._drivers[place]
            if driver.process.poll() is not None:
                return
            driver.signal(signal.SIGKILL)
            self._drivers[place] = self._driver()
        elif kind == "jobs":
            running = [pid for pid in self.starts.pids[-10:] if is_alive(pid)]
            if not running:
                return
            try:
                os.kill(self._rng.choice(running), signal.SIGKILL)
            except ProcessLookupError:
                return
        else:
            assert self._cluster is not None
            worker = self._cluster.workers.pop(0)
            worker.kill()
            worker.wait()
            self._cluster.workers.append(self._cluster.add_worker())
        self.killed[kind] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cluster", action="store_true")
    arguments = parser.parse_args()
    began = time.monotonic()
    soak = Soak(
        arguments.folder,
        arguments.jobs,
        random.Random(arguments.seed),
        on_cluster=arguments.cluster,
    )
    soak.run()
    folder = ResultFolder(soak.results)
    plan = plan_study(Study.from_toml(soak.study), folder, repeats_failures=True)
    started = len(soak.starts.pids)
    again = _WORKERS * soak.killed["drivers"] + soak.killed["jobs"] + soak.killed["workers"]
    assert len(plan.jobs) == arguments.jobs
    assert not plan.missing, f"lost: {len(plan.missing)}"
    assert {path.stem for path in records(soak.results)} == set(plan.jobs), "doubled"
    assert started <= arguments.jobs + again, f"{started} started"
    assert unfinished(soak.results) == []
    assert not list((soak.results / "claims").iterdir())
    assert soak.starts.all_gone()
    killed = ", ".join(f"{count} {kind}" for kind, count in soak.killed.items())
    sys.stdout.write(
        f"{arguments.jobs} jobs in {time.monotonic() - began:.0f} s; killed {killed}; "
        f"{started - arguments.jobs} jobs began again; nothing lost, nothing doubled\n"
    )


if __name__ == "__main__":
    main()
