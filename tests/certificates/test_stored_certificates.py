"""The certificates of small bundled instances, as `benchmarks/stored_certificates.py` wrote them.

They are checked as they are: what a version of jettison has proved stays proved.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison import Chain, ThreePartition, check_certificate, load
from jettison.instances.bundled_entries import Origin
from jettison.instances.catalog import bundled_instances
from jettison.remat_graph import chain_to_graph

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.gz"))
PROBLEMS = (
    "remat-chain",
    "remat-graph",
    "remat-offload-chain",
    "remat-sharding",
    "training-chain",
    "weight-offload",
)
LARGEST_BYTES = 25_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stored_certificate_is_valid_and_about_the_bundled_instance(path: Path) -> None:
    assert path.stat().st_size < LARGEST_BYTES
    claim = check_certificate(path).claim
    name = path.stem.removeprefix(f"{claim.problem}-")
    assert name != path.stem
    instance = load(name)
    assert not isinstance(instance, ThreePartition)
    if claim.problem == "remat-graph" and isinstance(instance, Chain):
        instance = chain_to_graph(instance)
    assert claim.instance_sha256 == instance.sha256


def test_every_small_chain_of_ours_has_one_and_so_has_every_problem_that_can() -> None:
    stored = {path.stem for path in FILES}
    small = [
        entry.name
        for entry in bundled_instances()
        if entry.kind == "chain" and entry.size <= 60 and entry.origin is not Origin.IMPORTED
    ]
    assert len(small) > 10
    assert {f"remat-chain-{name}" for name in small} <= stored
    for problem in PROBLEMS:
        assert any(name.startswith(f"{problem}-") for name in stored)
