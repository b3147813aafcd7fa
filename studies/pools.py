"""Where jobs run: threads of this process that wait for child processes, or a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jettison.instances.errors import InputError, MissingExtraError
from jettison.studies.run_job import allow_jobs, stop_running_jobs

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10


@dataclass(frozen=True, slots=True)
class LocalPool:
    """Threads of this process."""

    executor: ThreadPoolExecutor
    slots: int

    def stop(self) -> None:
        """Kill the child processes."""
        stop_running_jobs()


@dataclass(frozen=True, slots=True)
class DaskPool:
    """The workers of a cluster."""

    client: Client
    executor: Executor

    @property
    def slots(self) -> int:
        """Twice the threads of all workers, so that none waits for the next job."""
        threads: dict[str, int] = self.client.nthreads()
        return max(1, 2 * sum(threads.values()))

    def stop(self) -> None:
        """Kill the child processes on all workers."""
        self.client.run(stop_running_jobs)


@contextmanager
def local_pool(workers: int | None = None) -> Iterator[LocalPool]:
    """Open a pool of child processes on this machine; as many as it has cores by default."""
    count = workers or len(os.sched_getaffinity(0))
    allow_jobs()
    with ThreadPoolExecutor(count, thread_name_prefix="job") as executor:
        try:
            yield LocalPool(executor, count)
        except BaseException:
            stop_running_jobs()
            executor.shutdown(cancel_futures=True)
            raise


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
    with client:
        client.run(allow_jobs)
        # What a worker that dies was running goes to another one, twice.
        yield DaskPool(client, client.get_executor(retries=2))
