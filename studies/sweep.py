"""A sweep: all jobs of a study that have no record yet, through one pool of workers.

A pool is an executor of the standard library: threads that each wait for a child process, or the
workers of a Dask cluster. What a worker runs is `run_job` in both cases. The sweep itself writes
nothing, so that it can be killed at any time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from jettison.instances.catalog import Instance, load
from jettison.instances.errors import InputError
from jettison.studies.job import Job, present_versions
from jettison.studies.result_folder import ResultFolder
from jettison.studies.run_job import JobState, Request, run_job
from jettison.studies.study import Cell, Study

# How long a job that another process has claimed is left alone, and a look at the pool lasts.
_BUSY_S = 2.0
_LOOK_S = 0.25


class Pool(Protocol):
    """Where jobs run."""

    @property
    def executor(self) -> Executor:
        """What takes jobs."""

    @property
    def slots(self) -> int:
        """How many jobs it is given at a time."""

    def stop(self) -> None:
        """End the jobs that run."""


@dataclass(frozen=True)
class Plan:
    """The jobs of a study, and those of them whose record is there.

    Attributes
    ----------
    jobs
        Each job once, by its key.
    instances
        The instances, by hash.
    present
        Keys of jobs that need not run again.
    refused
        Cells that are no jobs, each with the reason: a problem that does not go with an instance.
    """

    jobs: Mapping[str, Job]
    instances: Mapping[str, Instance]
    present: frozenset[str]
    refused: tuple[tuple[Cell, InputError], ...]

    @property
    def missing(self) -> list[str]:
        """Keys of the jobs to run, in the order of the study."""
        return [key for key in self.jobs if key not in self.present]


def plan_study(study: Study, folder: ResultFolder, *, repeats_failures: bool = False) -> Plan:
    """Pose every problem of a study, and look up which results are there.

    Raises
    ------
    InputError
        If an instance cannot be loaded, or none of the cells is a job.
    """
    versions = present_versions()
    loaded: dict[str, Instance] = {}
    jobs: dict[str, Job] = {}
    instances: dict[str, Instance] = {}
    refused: list[tuple[Cell, InputError]] = []
    for cell in study.cells:
        if cell.instance not in loaded:
            loaded[cell.instance] = load(cell.instance)
        instance = loaded[cell.instance]
        try:
            job = Job.of(cell, instance, versions)
        except InputError as error:
            refused.append((cell, error))
            continue
        jobs.setdefault(job.key, job)
        instances[instance.sha256] = instance
    if not jobs:
        raise refused[0][1]
    present = {key for key in jobs if folder.has(key)}
    if repeats_failures:
        present -= {key for key in present if folder.record(key)["state"] == JobState.FAILED}
    return Plan(jobs, instances, frozenset(present), tuple(refused))


@dataclass
class SweepState:
    """Where a sweep stands.

    Attributes
    ----------
    total
        Jobs of the study.
    done, failed
        Jobs with a record, those from before included.
    running
        Labels of jobs that a worker has, by key.
    last
        Key of the job whose record came last.
    """

    total: int
    done: int = 0
    failed: int = 0
    running: dict[str, str] = field(default_factory=dict)
    last: str | None = None


class Sweep:
    """The jobs of a plan on their way through a pool.

    Parameters
    ----------
    study, plan, folder
        What to run, and where results go.
    pool
        Where jobs run.
    on_change
        Called with the state whenever it changes, and now and then.
    """

    def __init__(
        self,
        study: Study,
        plan: Plan,
        folder: ResultFolder,
        pool: Pool,
        on_change: Callable[[SweepState], None] | None = None,
        *,
        repeats_failures: bool = False,
    ) -> None:
        self._study, self._plan, self._folder, self._pool = study, plan, folder, pool
        self._on_change = on_change or (lambda state: None)
        self._repeats_failures = repeats_failures
        self._waiting = deque(plan.missing)
        self._resting: deque[tuple[float, str]] = deque()
        self._futures: dict[Future[JobState], str] = {}
        self.state = SweepState(len(plan.jobs))
        for key in plan.present:
            self._count(JobState(folder.record(key)["state"]))

    def run(self) -> SweepState:
        """Run all that is missing.

        Ctrl-C ends the running jobs, which leave no record, and is raised again.
        """
        for instance in self._plan.instances.values():
            self._folder.add_instance(instance)
        try:
            while self._waiting or self._resting or self._futures:
                self._submit()
                self._on_change(self.state)
                if not self._futures:
                    time.sleep(_LOOK_S)
                    continue
                finished, _ = wait(self._futures, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._collect(future)
        except BaseException:
            for future in self._futures:
                future.cancel()
            self._pool.stop()
            raise
        self._on_change(self.state)
        return self.state

    def _submit(self) -> None:
        now = time.monotonic()
        while self._resting and self._resting[0][0] <= now:
            self._waiting.append(self._resting.popleft()[1])
        while self._waiting and len(self._futures) < self._pool.slots:
            key = self._waiting.popleft()
            job = self._plan.jobs[key]
            request = Request(
                job=job.to_json(),
                folder=str(self._folder.path.resolve()),
                wall_limit_s=self._study.wall_limit_s,
                memory_limit_bytes=self._study.memory_limit_bytes,
                repeats_failures=self._repeats_failures,
            )
            self._futures[self._pool.executor.submit(run_job, request)] = key
            self.state.running[key] = job.label

    def _collect(self, future: Future[JobState]) -> None:
        key = self._futures.pop(future)
        self.state.running.pop(key)
        try:
            state = future.result()
        except CancelledError:
            state = JobState.STOPPED
        except Exception as error:
            # A worker died more often than its cluster tries, or cannot write the folder.
            self._folder.write(
                key,
                {
                    "job": self._plan.jobs[key].to_json(),
                    "state": str(JobState.FAILED),
                    "failed": f"{type(error).__name__}: {error}",
                    "trace": [],
                },
            )
            state = JobState.FAILED
        if state in {JobState.BUSY, JobState.STOPPED}:
            self._resting.append((time.monotonic() + _BUSY_S, key))
            return
        self._count(state)
        self.state.last = key

    def _count(self, state: JobState) -> None:
        if state is JobState.FAILED:
            self.state.failed += 1
        else:
            self.state.done += 1


def folder_of(path: Path) -> ResultFolder:
    """Return the folder of results, made if it is not there."""
    folder = ResultFolder(path)
    folder.create()
    return folder


def longest_seconds(study: Study, jobs: Sequence[Job]) -> float:
    """Return the seconds that jobs take one after the other if each runs to its time limit."""
    return sum(min(job.time_limit_s, study.wall_limit_s) for job in jobs)
