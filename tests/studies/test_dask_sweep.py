"""The same sweeps on a Dask cluster of two worker processes, started by the tests."""

from __future__ import annotations

import importlib.util
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studies.cluster import Cluster
from tests.studies.driver import Driver, Starts, records, wait_until
from tests.studies.tiny_study import differences, unfinished, write_study

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="needs Dask: pip install 'jettison[distributed]'",
)


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> Starts:
    return Starts(tmp_path_factory.mktemp("at_start"), sleep_s=0.5)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, starts: Starts) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), starts.environment)
    yield cluster
    cluster.close()


def driver_of(study: Path, starts: Starts, cluster: Cluster) -> Driver:
    results = study.parent / "results"
    return Driver(study, results, starts, "--scheduler", cluster.address)


def test_a_cluster_finds_what_the_local_pool_finds(
    tmp_path: Path, starts: Starts, cluster: Cluster
) -> None:
    path = write_study(tmp_path, methods=("rotor", "revolve", "cut-bound"))
    code, out, errors = Driver(
        path, tmp_path / "far", starts, "--scheduler", cluster.address, "--json"
    ).end()
    assert code == 0, errors
    assert json.loads(out)["done"] == 3
    assert Driver(path, tmp_path / "near", starts).end()[0] == 0
    assert differences(tmp_path / "far", tmp_path / "near") == []
    assert unfinished(tmp_path / "far") == []


def test_a_killed_driver_loses_nothing_on_a_cluster(
    tmp_path: Path, starts: Starts, cluster: Cluster
) -> None:
    results, before = tmp_path / "results", len(starts.pids)
    driver = driver_of(write_study(tmp_path, seeds=4), starts, cluster)
    wait_until(lambda: len(records(results)) >= 1)
    driver.signal(signal.SIGKILL)
    code, _, errors = driver_of(tmp_path / "study.toml", starts, cluster).end()
    assert code == 0, errors
    assert len(records(results)) == 4
    # The workers finish what they had, and the second driver waits for that.
    assert len(starts.pids) - before == 4


def test_ctrl_c_ends_the_jobs_on_the_workers(
    tmp_path: Path, starts: Starts, cluster: Cluster
) -> None:
    results, before = tmp_path / "results", len(starts.pids)
    driver = driver_of(write_study(tmp_path, seeds=3), starts, cluster)
    wait_until(lambda: len(starts.pids) == before + 2)
    code, _, errors = driver.signal(signal.SIGINT)
    assert code == 130, errors
    assert "jobs have a record; the same command goes on with the rest" in errors
    wait_until(starts.all_gone)
    assert records(results) == []


def test_a_killed_worker_s_jobs_go_to_another_one(
    tmp_path: Path, starts: Starts, cluster: Cluster
) -> None:
    results, before = tmp_path / "results", len(starts.pids)
    driver = driver_of(write_study(tmp_path, seeds=4), starts, cluster)
    wait_until(lambda: len(starts.pids) == before + 2)
    dead = cluster.workers.pop()
    dead.kill()
    dead.wait()
    code, _, errors = driver.end()
    assert code == 0, errors
    assert len(records(results)) == 4
    # The job that the dead worker had began twice.
    assert len(starts.pids) - before <= 5
    assert starts.all_gone()
    assert unfinished(results) == []


def test_a_scheduler_that_dies_ends_the_sweep_with_one_line(
    tmp_path: Path, starts: Starts, cluster: Cluster
) -> None:
    before = len(starts.pids)
    driver = driver_of(write_study(tmp_path, seeds=3), starts, cluster)
    wait_until(lambda: len(starts.pids) > before)
    cluster.scheduler.kill()
    cluster.scheduler.wait()
    code, _, errors = driver.end()
    assert code == 2
    assert "Traceback" not in errors, errors
    assert "error: scheduler: the scheduler does not answer any more" in errors
    wait_until(starts.all_gone)
