"""Sweep: runs all jobs of a study that have no record yet, in one pool of workers.

A pool is an executor of the standard library: threads that each wait for a child process, or the
workers of a Dask cluster. What a worker runs is `run_job` in both cases. The sweep itself keeps
nothing that is not in the folder, so that it can be killed at any time.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field

from jettison.instances.catalog import Instance, load
from jettison.instances.core.errors import InputError
from jettison.studies.job import Job, present_versions
from jettison.studies.pools import Pool
from jettison.studies.result_folder import ResultFolder
from jettison.studies.run_job import JobState, Request
from jettison.studies.study import Cell, Study

# How long a job that another process has claimed is left alone, and a look at the pool lasts.
_BUSY_S = 2.0
_LOOK_S = 0.25


@dataclass(frozen=True)
class Plan:
    """Jobs of a study, with the records that exist already.

    Attributes
    ----------
    jobs
        Each job once, by its key.
    instances
        The instances, by hash.
    present
        Keys of jobs that need not run again.
    repeated
        Keys of jobs that failed and are to run again.
    refused
        Cells that are no jobs, each with the reason: a problem that does not go with an instance.
    damaged
        What is wrong with records that cannot be read, or lack their schedule, by key: they are set
        aside, and their jobs run again.
    """

    jobs: Mapping[str, Job]
    instances: Mapping[str, Instance]
    present: frozenset[str]
    repeated: frozenset[str]
    refused: tuple[tuple[Cell, InputError], ...]
    damaged: Mapping[str, InputError]

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
        cell, reason = refused[0]
        raise reason.within(prefix=cell.place, source=study.source)
    present: set[str] = set()
    repeated: set[str] = set()
    damaged: dict[str, InputError] = {}
    for key in filter(folder.has, jobs):
        try:
            record = folder.sound_record(key)
        except InputError as error:
            damaged[key] = error
            continue
        is_repeated = repeats_failures and record["state"] == JobState.FAILED
        (repeated if is_repeated else present).add(key)
    return Plan(jobs, instances, frozenset(present), frozenset(repeated), tuple(refused), damaged)


@dataclass
class SweepState:
    """State of a sweep.

    Attributes
    ----------
    total
        Jobs of the study.
    done, failed
        Jobs with a record, those from before included.
    running
        Labels of jobs that a worker has, by key.
    gaps
        Of the schedules so far.
    set_aside
        What was wrong with each file that the sweep set aside, and made again.
    """

    total: int
    done: int = 0
    failed: int = 0
    running: dict[str, str] = field(default_factory=dict)
    gaps: list[float] = field(default_factory=list)
    set_aside: list[InputError] = field(default_factory=list)


class Sweep:
    """Run of the missing jobs of a plan in a pool.

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
    ) -> None:
        self._study, self._plan, self._folder, self._pool = study, plan, folder, pool
        self._on_change = on_change or (lambda state: None)
        self._name = uuid.uuid4().hex
        self._waiting = deque(plan.missing)
        self._resting: deque[tuple[float, str]] = deque()
        self._futures: dict[Future[JobState], str] = {}
        self._made_again: set[str] = set()
        self.state = SweepState(len(plan.jobs))
        for key in plan.present:
            self._count(key)

    def run(self) -> SweepState:
        """Run all missing jobs.

        Ctrl-C ends the running jobs, which leave no record, and is raised again.

        Raises
        ------
        InputError
            If a worker cannot use the folder.
        """
        self._pool.check(self._folder)
        for instance in self._plan.instances.values():
            fault = self._folder.add_instance(instance)
            if fault is not None:
                self.state.set_aside.append(fault)
        for key, fault in self._plan.damaged.items():
            self._set_aside(key, fault)
        for key in self._plan.repeated:
            self._folder.discard_failure(key)
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
            self._pool.stop(self._name)
            raise
        self._on_change(self.state)
        return self.state

    def _submit(self) -> None:
        now = time.monotonic()
        while self._resting and self._resting[0][0] <= now:
            self._waiting.append(self._resting.popleft()[1])
        if not self._waiting:
            return
        for _ in range(self._pool.slots - len(self._futures)):
            if not self._waiting:
                break
            key = self._waiting.popleft()
            job = self._plan.jobs[key]
            request = Request(
                sweep=self._name,
                job=job.to_json(),
                folder=str(self._folder.path.resolve()),
                wall_limit_s=self._study.wall_limit_s,
                memory_limit_bytes=self._study.memory_limit_bytes,
            )
            self._futures[self._pool.submit(request)] = key
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
            state = self._fail(key, f"{type(error).__name__}: {' '.join(str(error).split())}")
        if state in {JobState.BUSY, JobState.STOPPED}:
            self._resting.append((time.monotonic() + _BUSY_S, key))
            return
        try:
            self._count(key)
        except InputError as fault:
            # Another process has left it so. A disk that damages the same record again is left to
            # whoever reads the message.
            if key in self._made_again:
                raise
            self._set_aside(key, fault)
            self._waiting.append(key)

    def _set_aside(self, key: str, fault: InputError) -> None:
        self._made_again.add(key)
        self._folder.set_aside(key)
        self.state.set_aside.append(fault)

    def _fail(self, key: str, reason: str) -> JobState:
        """Record a failure that no worker could record, unless there is a record by now."""
        with self._folder.claimed(key) as ours:
            if not ours:
                return JobState.BUSY
            if not self._folder.has(key):
                job = self._plan.jobs[key].to_json()
                now = round(time.time(), 3)
                failure = {"failed": reason, "started": now, "wall_s": 0.0, "trace": []}
                self._folder.write(key, {"job": job, "state": str(JobState.FAILED), **failure})
        return JobState.FAILED

    def _count(self, key: str) -> None:
        """Take in the record of a job."""
        record = self._folder.record(key)
        if record["state"] == JobState.FAILED:
            self.state.failed += 1
            return
        self.state.done += 1
        gap = record["result"]["gap"]
        if gap is not None:
            self.state.gaps.append(gap)
