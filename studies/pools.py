"""Pools of workers for jobs: threads that wait for child processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.studies.job import present_versions
from jettison.studies.result_folder import ResultFolder
from jettison.studies.run_job import JobState, Request, run_job, stop_jobs

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10


class Pool(Protocol):
    """Pool of workers that run jobs."""

    @property
    def workers(self) -> int:
        """Number of jobs that run at a time."""

    @property
    def slots(self) -> int:
        """Number of jobs that are submitted at a time."""

    def check(self, folder: ResultFolder) -> None:
        """Check that the workers can serve requests about a folder.

        Raises
        ------
        InputError
            If one of them cannot.
        """

    def submit(self, request: Request) -> Future[JobState]:
        """Submit a job, which a worker runs by `run_job`."""

    def stop(self, sweep: str) -> None:
        """End the running jobs of a sweep."""


@dataclass(frozen=True, slots=True)
class LocalPool:
    """Pool of threads in this process, each waiting for a child process."""

    executor: ThreadPoolExecutor
    workers: int

    @property
    def slots(self) -> int:
        """Number of jobs submitted at a time, one per thread."""
        return self.workers

    def check(self, folder: ResultFolder) -> None:
        """Do nothing: workers in the same process have the same versions and files."""

    def submit(self, request: Request) -> Future[JobState]:
        """Run a job in a thread."""
        return self.executor.submit(run_job, request)

    def stop(self, sweep: str) -> None:
        """Kill the child processes."""
        stop_jobs(sweep)


@dataclass(frozen=True, slots=True)
class DaskPool:
    """Pool of the workers of a Dask cluster."""

    client: Client
    executor: Executor

    @property
    def workers(self) -> int:
        """Number of threads of all workers."""
        with _connected():
            threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    @property
    def slots(self) -> int:
        """Number of jobs submitted at a time, two per thread, so that no thread runs idle."""
        return 2 * self.workers

    def check(self, folder: ResultFolder) -> None:
        """Check versions, that workers see the folder, and that locks hold between machines."""
        here = present_versions()
        with folder.claimed("check") as ours:
            try:
                with _connected():
                    views: dict[str, tuple[dict[str, str], str | None]] = self.client.run(
                        _view_of, str(folder.path.resolve()), "check" if ours else None
                    )
            except (ImportError, AttributeError) as error:
                raise InputError(
                    f"a worker cannot run jettison: {error}",
                    field="scheduler",
                    expected="install the same jettison for all workers",
                ) from None
        for worker, (versions, complaint) in views.items():
            if complaint is not None:
                raise InputError(
                    f"the worker {worker} {complaint}",
                    source=str(folder.path),
                    expected="give a folder on a file system that all machines share, with locks",
                )
            if versions != here:
                differing = sorted(name for name in here if versions.get(name) != here[name])
                raise InputError(
                    f"the worker {worker} has another version of {', '.join(differing)}",
                    field="scheduler",
                    expected="install the same versions on all machines",
                )

    def submit(self, request: Request) -> Future[JobState]:
        """Run a job on a worker."""
        with _connected():
            future: Future[JobState] = self.executor.submit(run_job, request)
        return future

    def stop(self, sweep: str) -> None:
        """Kill the child processes on all workers."""
        # Workers end by themselves, and their jobs with them, when their scheduler is gone.
        with contextlib.suppress(InputError), _connected():
            self.client.run(stop_jobs, sweep)


@contextmanager
def _connected() -> Iterator[None]:
    """Turn errors of a lost connection to the cluster into one `InputError`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"the scheduler does not answer any more: {error or type(error).__name__}",
            field="scheduler",
            expected="start a cluster again; the same command goes on with the rest",
        ) from None


def _view_of(folder: str, claim: str | None) -> tuple[dict[str, str], str | None]:
    """Return a worker's versions, and what is wrong with its view of the folder."""
    seen = ResultFolder(Path(folder))
    if not (seen.path / "claims").is_dir():
        return present_versions(), "does not see the folder"
    if claim is not None:
        with seen.claimed(claim) as ours:
            if ours:
                return present_versions(), "gets a lock that this process holds"
    return present_versions(), None


@contextmanager
def local_pool(workers: int | None = None) -> Iterator[LocalPool]:
    """Open a pool of child processes on this machine; as many as it has cores by default."""
    count = workers or _cores()
    with ThreadPoolExecutor(count, thread_name_prefix="job") as executor:
        yield LocalPool(executor, count)


def _cores() -> int:
    # Linux knows of cores that this process may not use.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def dask_pool(address: str) -> Iterator[DaskPool]:
    """Connect to the scheduler of a cluster.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    InputError
        If no scheduler answers.
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("dask", "distributed", "a sweep on a cluster") from None
    try:
        client = distributed.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"no scheduler answers at {address!r}: {error}",
            field="scheduler",
            expected="start one with `dask scheduler`, and give its address, tcp://HOST:8786",
        ) from None
    with _said_once(), client:
        # What a worker was running that dies goes to another one; after some deaths, to none.
        yield DaskPool(client, client.get_executor())


@contextmanager
def _said_once() -> Iterator[None]:
    """Keep Dask's client from logging that the scheduler is gone, which the pool tells itself."""
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
