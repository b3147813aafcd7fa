"""A tiny folder of results, in which every name tries to become markup."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jettison.cli.main import main
from jettison.instances.catalog import save
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain, Stage

HOSTILE = "</script><img src=x onerror=alert(1)> & \"quoted\" 'name' <!-- data -->"
REASON = "killed <b>at</b> its wall limit\nof 3 s"

STUDY = """
name = "<i>tiny</i> & small"

[[grid]]
problem = "remat-chain"
instances = ["chain.json"]
memory = ["30%", "70%", "85%", "100%"]
methods = ["rotor-exact", "revolve", "cut-bound"]
time_limit_s = 10

[[grid]]
problem = "weight-offload"
instances = ["layers.json"]
memory = ["80%"]
bandwidth = "1GB/s"
methods = ["greedy"]
time_limit_s = 10
"""


@dataclass(frozen=True)
class TinyResults:
    """Folders of the runs, and the key of the job whose record says that it failed."""

    path: Path
    failed_key: str


@pytest.fixture(scope="session")
def tiny_results(tmp_path_factory: pytest.TempPathFactory) -> TinyResults:
    folder = tmp_path_factory.mktemp("study")
    stages = [
        Stage(
            name=f"<b>layer</b> {k}",
            forward_ns=1000 + 7 * k,
            backward_ns=2003,
            output_bytes=100,
            saved_bytes=300,
            weight_bytes=400,
        )
        for k in range(8)
    ]
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
    chain = Chain(HOSTILE, 50, (*stages, loss), provenance=Provenance(note=HOSTILE))
    save(chain, folder / "chain.json")
    save(replace(chain, name="layers", input_bytes=60), folder / "layers.json")
    (folder / "tiny.toml").write_text(STUDY, encoding="utf-8")
    results = folder / "results"
    with pytest.raises(SystemExit) as ended:
        main(["sweep", str(folder / "tiny.toml"), "-o", str(results)])
    assert ended.value.code == 0
    failed = _fail_one(results)
    _let_one_report(results)
    return TinyResults(results, failed)


def _fail_one(results: Path) -> str:
    """Turn one record into that of a job that failed."""
    path = next(path for path in _records(results) if _method(path) == "revolve")
    record = json.loads(path.read_text(encoding="utf-8"))
    kept = ("format", "job", "key", "kind", "started", "trace", "version", "wall_s")
    failed = {**{name: record[name] for name in kept}, "state": "failed", "failed": REASON}
    path.write_text(json.dumps(failed), encoding="utf-8")
    return str(record["key"])


def _let_one_report(results: Path) -> None:
    """Give a record with a schedule a trace of three points, so that there is one to draw."""
    for path in _records(results):
        record = json.loads(path.read_text(encoding="utf-8"))
        if _method(path) == "rotor-exact" and record["result"]["time_ns"] is not None:
            time_ns = record["result"]["time_ns"]
            record["trace"] = [[0.001, 2 * time_ns, None], [0.01, time_ns, 5], [0.02, time_ns, 9]]
            path.write_text(json.dumps(record), encoding="utf-8")


def _records(results: Path) -> list[Path]:
    return sorted((results / "jobs").glob("*.json"))


def _method(path: Path) -> str:
    return str(json.loads(path.read_text(encoding="utf-8"))["job"]["method"])
