"""Studies of pipelines and of hosts with a limit: what is asked is in the jobs and in the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.studies.result_folder import ResultFolder
from jettison.studies.results_frame import results_frame
from jettison.studies.study import Study
from tests.studies.tiny_study import swept

GRIDS = """
[[grid]]
problem = "pipeline-chain"
instances = ["opt-350m-b1-rtx-2080"]
memory = ["4GiB"]
devices = [1, 2]
microbatches = [4]
weight_copies = [2]
methods = ["equal-time"]

[[grid]]
problem = "training-chain"
instances = ["opt-350m-b1-2080-adam"]
memory = ["8GiB"]
bandwidth = ["12GB/s"]
host_memory = ["64GiB", "1GiB"]
methods = ["fsdp"]
"""


def test_jobs_that_differ_in_devices_or_in_the_memory_of_the_host_are_told_apart(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GRIDS, encoding="utf-8")
    swept(path, tmp_path / "results")
    table = results_frame(ResultFolder(tmp_path / "results"))
    assert sorted(table["devices"].dropna()) == [1, 2]
    assert set(table["host_memory"].dropna()) == {"64GiB", "1GiB"}
    assert not table["failed"].notna().any()
    pipelines = table[table["problem"] == "pipeline-chain"].set_index("devices")
    assert pipelines.loc[2, "time_ns"] < pipelines.loc[1, "time_ns"]


def test_the_memory_of_the_host_is_an_amount(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GRIDS.replace("64GiB", "half"), encoding="utf-8")
    with pytest.raises(InputError, match="host_memory"):
        Study.from_toml(path)
