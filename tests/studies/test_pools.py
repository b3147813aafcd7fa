"""Questions to a cluster before it gets any job."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.studies.job import present_versions
from jettison.studies.pools import DaskPool, local_pool
from jettison.studies.result_folder import ResultFolder


class OneWorker:
    """Stands for a Dask client with one worker, whose answer to the question is given."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self._answer = answer

    def run(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        return {"tcp://a:1": self._answer(function, *arguments)}

    def nthreads(self) -> dict[str, int]:
        return {"tcp://a:1": 3, "tcp://b:1": 2}


@pytest.fixture
def folder(tmp_path: Path) -> ResultFolder:
    folder = ResultFolder(tmp_path / "results")
    folder.create()
    return folder


def pool_of(answer: Callable[..., Any]) -> DaskPool:
    client: Any = OneWorker(answer)
    return DaskPool(client, ThreadPoolExecutor())


def test_a_worker_that_sees_the_folder_and_has_the_same_versions_passes(
    folder: ResultFolder,
) -> None:
    pool_of(lambda function, *given: function(*given)).check(folder)


def test_a_worker_that_does_not_see_the_folder_is_refused(folder: ResultFolder) -> None:
    pool = pool_of(lambda function, _, claim: function("/no/such/folder", claim))
    with pytest.raises(InputError, match="the worker tcp://a:1 does not see the folder"):
        pool.check(folder)


def test_a_worker_that_sees_another_folder_under_the_same_path_is_refused(
    folder: ResultFolder, tmp_path: Path
) -> None:
    shutil.copytree(folder.path, tmp_path / "copy")
    pool = pool_of(lambda function, _, claim: function(str(tmp_path / "copy"), claim))
    with pytest.raises(InputError, match="gets a lock that this process holds"):
        pool.check(folder)


def test_a_worker_with_another_solver_is_refused(folder: ResultFolder) -> None:
    pool = pool_of(lambda *_: ({**present_versions(), "highspy": "0.0.1"}, None))
    with pytest.raises(InputError, match="has another version of highspy"):
        pool.check(folder)


def test_a_worker_without_this_code_is_refused(folder: ResultFolder) -> None:
    def fail(*unused: object) -> None:
        raise ModuleNotFoundError("No module named 'jettison'")

    with pytest.raises(InputError, match="a worker cannot run jettison"):
        pool_of(fail).check(folder)


def test_a_cluster_gets_twice_as_many_jobs_as_it_has_threads() -> None:
    pool = pool_of(lambda *_: None)
    # 3 + 2 threads.
    assert (pool.workers, pool.slots) == (5, 10)


def test_the_local_pool_takes_the_number_it_is_given() -> None:
    with local_pool(3) as pool:
        assert (pool.workers, pool.slots) == (3, 3)
