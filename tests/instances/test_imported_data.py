"""The bundled instances that were measured and published by others."""

from __future__ import annotations

import gzip
import re

import pytest

import jettison as jt
from jettison import Chain, load
from jettison.instances.bundled_entries import CatalogEntry, Origin, data_file
from jettison.instances.catalog import bundled_instances

IMPORTED = [entry for entry in bundled_instances() if entry.origin is Origin.IMPORTED]
# Those of Sailor, which all ran OPT-350M.
NAMED = {"A100-40", "A100-80", "GH-96", "RTX-2080", "RTX-3090", "Titan-RTX", "V100-16"}
LARGEST_BUNDLE_BYTES = 3_000_000
NETWORKS = [
    entry
    for entry in IMPORTED
    if entry.kind == "chain" and "pipedream" in entry.file.partition("/")[0]
]


def test_at_least_sixty_are_bundled_of_seven_named_devices_and_two_more() -> None:
    assert len(IMPORTED) >= 60
    assert {entry.device_label for entry in IMPORTED} == NAMED | {"A100", "V100-32", "GPU"}
    opt = {entry.device_label for entry in IMPORTED if entry.model == "OPT-350"}
    assert opt == NAMED


def test_no_two_are_the_same_and_all_together_are_small() -> None:
    assert len({entry.instance_sha256 for entry in IMPORTED}) == len(IMPORTED)
    sizes = [data_file(entry.file).stat().st_size for entry in IMPORTED]
    assert sum(sizes) < LARGEST_BUNDLE_BYTES


@pytest.mark.parametrize("entry", IMPORTED, ids=lambda entry: entry.name)
def test_an_imported_instance_says_who_measured_what(entry: CatalogEntry) -> None:
    known = load(entry.name).provenance
    assert known.repository
    assert known.repository.partition("/")[2].lower() == entry.file.partition("/")[0]
    assert known.file
    assert known.licence == "MIT"
    assert known.commit
    assert re.fullmatch("[0-9a-f]{7,40}", known.commit)
    assert known.note
    assert "nknown" in known.note or "Measured" in known.note
    assert known.device_kind == "cuda"


def test_a_compressed_file_is_the_one_that_was_too_large_to_be_plain() -> None:
    packed = [entry for entry in IMPORTED if entry.file.endswith(".gz")]
    assert packed
    for entry in packed:
        assert len(gzip.decompress(data_file(entry.file).read_bytes())) > 64_000


@pytest.mark.parametrize("entry", NETWORKS, ids=lambda entry: entry.name)
def test_chain_and_graph_of_a_network_take_the_same_time(entry: CatalogEntry) -> None:
    # Both hold every operation of the profile; only where memory is counted do they differ.
    chain = load(entry.name)
    graph = load(entry.name.replace(f"-b{entry.batch}-", f"-graph-b{entry.batch}-"))
    assert isinstance(chain, Chain)
    assert isinstance(graph, jt.Graph)
    assert chain.base_time_ns == graph.base_time_ns
    assert chain.provenance == graph.provenance


# Share of the no-saving peak, base time and optimum, in microseconds: figures that were computed
# from the published files before there was an importer.
@pytest.mark.parametrize(
    ("name", "memory", "base_us", "optimum_us"),
    [
        ("opt-350m-b4-a100-40", "30%", 773_946, 929_822),
        ("opt-30b-b4-gh-96", "30%", 7_992_723, 9_680_210),
        ("gpt3-1.3b-b1-v100", "50%", 379_328, 432_837),
        ("bert-32-b8-a100", "50%", 972_864, 1_146_779),
    ],
)
def test_a_bundled_chain_has_the_optimum_that_is_known(
    name: str, memory: str, base_us: int, optimum_us: int
) -> None:
    chain = load(name)
    assert isinstance(chain, Chain)
    result = jt.solve(jt.RematChain(chain, memory=memory), method="rotor-exact")
    assert result.time_ns is not None
    assert (round(chain.base_time_ns / 1000), round(result.time_ns / 1000)) == (base_us, optimum_us)
    assert result.status == "optimal"
