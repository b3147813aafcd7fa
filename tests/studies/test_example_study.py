"""The example study, all of it: local, and on a cluster while a driver and a worker die."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path

import pytest

from jettison.studies.report.page import write_report
from jettison.studies.report.run import load_runs
from jettison.studies.result_folder import ResultFolder
from tests.studies.cluster import Cluster
from tests.studies.driver import Driver, Starts, records, wait_until
from tests.studies.report.browser import chromium, draw_everything, opened
from tests.studies.tiny_study import differences, unfinished

STUDY = Path(__file__).parents[2] / "examples/studies/memory_and_time.toml"
JOBS = 232
# Of one sweep, on a machine that does other work as well.
PATIENCE_S = 1500.0

pytestmark = [
    pytest.mark.minutes,
    pytest.mark.skipif(
        importlib.util.find_spec("distributed") is None, reason="needs Dask: make test-cluster"
    ),
]


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> Starts:
    return Starts(tmp_path_factory.mktemp("at_start"))


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory, starts: Starts) -> Path:
    """Return the results of the local pool, whose driver is killed on the way."""
    results = tmp_path_factory.mktemp("near") / "results"
    driver = Driver(STUDY, results, starts)
    wait_until(lambda: len(records(results)) >= 40, PATIENCE_S)
    driver.signal(signal.SIGKILL)
    code, out, errors = Driver(STUDY, results, starts).end(PATIENCE_S)
    assert code == 0, errors
    assert f"{JOBS} done, 0 failed" in out
    return results


def test_a_cluster_that_loses_a_driver_and_a_worker_finds_what_the_local_pool_finds(
    near: Path, tmp_path: Path, starts: Starts
) -> None:
    results = tmp_path / "far"
    cluster = Cluster(tmp_path, starts.environment)
    try:
        driver = Driver(STUDY, results, starts, "--scheduler", cluster.address)
        wait_until(lambda: len(records(results)) >= 40, PATIENCE_S)
        driver.signal(signal.SIGKILL)
        driver = Driver(STUDY, results, starts, "--scheduler", cluster.address)
        wait_until(lambda: len(records(results)) >= 80, PATIENCE_S)
        dead = cluster.workers.pop()
        dead.kill()
        dead.wait()
        cluster.workers.append(cluster.add_worker())
        code, out, errors = driver.end(PATIENCE_S)
    finally:
        cluster.close()
    assert code == 0, errors
    assert f"{JOBS} done, 0 failed" in out
    assert len(records(results)) == JOBS
    assert unfinished(results) == []
    assert differences(results, near) == []


def test_its_report_opens_in_a_browser_without_errors_or_requests(
    near: Path, tmp_path: Path
) -> None:
    folder, path = ResultFolder(near), tmp_path / "report.html"
    runs = load_runs(folder).runs
    assert len(runs) == JOBS
    write_report(runs, folder, path, title="the example")
    with chromium() as browser:
        seen = opened(browser, path)
        draw_everything(seen.page)
        assert seen.complaints == []
        assert seen.requests == [path.as_uri()]
