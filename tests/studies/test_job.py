"""The key of a job: the same for the same question, another for another one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jettison.instances.catalog import Instance, load
from jettison.instances.core.link import Transfers
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.resources import Resources
from jettison.studies.job import Job, present_versions
from jettison.studies.study import Cell
from tests.studies.tiny_study import job_of, small_chain


def job(
    instance: Instance, problem: str, resources: Resources, method: str, options: SolveOptions
) -> Job:
    cell = Cell(
        problem=problem,
        instance=instance.name,
        resources=resources,
        method=method,
        options=options,
    )
    return Job.of(cell, instance, present_versions())


def test_the_same_memory_written_differently_is_the_same_job() -> None:
    # The no-saving peak of the chain: 50 + 8 * 300 bytes, and 100 + 100 in the last backward.
    keys = {job_of(memory=memory).key for memory in ("50%", "50.0%", "1325B", "1.325kB")}
    assert len(keys) == 1


def test_a_default_that_is_written_is_the_same_job_as_one_that_is_not() -> None:
    chain, options = small_chain(), SolveOptions()
    keys = {
        job(
            chain,
            "remat-offload-chain",
            Resources("50%", None, bandwidth, transfers),
            "pofo",
            options,
        ).key
        for bandwidth, transfers in (
            ("1GB/s", None),
            ("1000MB/s", None),
            ("1GB/s", Transfers.AT_ONCE),
        )
    }
    assert len(keys) == 1
    models = load("dlrm-x8")
    keys = {
        job(models, "multi-model", Resources("40GiB", models=count), "hfta", options).key
        for count in (None, 8)
    }
    assert len(keys) == 1


def test_the_name_of_an_instance_does_not_count_but_its_content_does() -> None:
    chain = small_chain()
    renamed = replace(chain, name="other")
    changed = replace(chain, input_bytes=51)
    keys = [
        job(each, "remat-chain", Resources("1325B"), "rotor", SolveOptions()).key
        for each in (chain, renamed, changed)
    ]
    assert (keys[0] == keys[1]) == (chain.sha256 == renamed.sha256)
    assert keys[0] != keys[2]


@pytest.mark.parametrize(
    "options",
    [
        SolveOptions(time_limit_s=61.0),
        SolveOptions(gap=1e-3),
        SolveOptions(threads=2),
        SolveOptions(seed=1),
    ],
)
def test_every_option_counts(options: SolveOptions) -> None:
    chain = small_chain()
    plain = job(chain, "remat-chain", Resources("50%"), "rotor", SolveOptions())
    assert job(chain, "remat-chain", Resources("50%"), "rotor", options).key != plain.key


def test_problem_method_memory_and_transfers_count() -> None:
    options, chain = SolveOptions(), small_chain()
    given = [
        ("remat-chain", Resources("50%"), "rotor"),
        ("remat-chain", Resources("50%"), "revolve"),
        ("remat-chain", Resources("51%"), "rotor"),
        ("remat-offload-chain", Resources("50%", None, "1GB/s"), "pofo"),
        ("remat-offload-chain", Resources("50%", None, "2GB/s"), "pofo"),
        ("remat-offload-chain", Resources("50%", None, "1GB/s", Transfers.FLUID), "pofo"),
    ]
    assert len({job(chain, *each, options).key for each in given}) == len(given)


@pytest.mark.parametrize("package", sorted(present_versions()))
def test_another_version_of_any_package_is_another_job(package: str) -> None:
    first = job_of()
    assert replace(first, versions={**first.versions, package: "0.0.1"}).key != first.key


def test_a_job_survives_its_way_to_a_worker() -> None:
    chain = small_chain()
    given = Resources("50%", None, "1GB/s", Transfers.FLUID)
    first = job(chain, "remat-offload-chain", given, "pofo", SolveOptions(time_limit_s=2.5))
    again = Job.from_json(json.loads(json.dumps(first.to_json())))
    assert again == first
    assert again.key == first.key
    assert again.posed(chain) == first.posed(chain)


def test_a_shared_link_is_another_job_and_a_total_that_nothing_shares_is_not() -> None:
    full, same, half, between = (
        job(
            small_chain(),
            "remat-offload-chain",
            Resources("50%", None, bandwidth),
            "pofo",
            SolveOptions(),
        )
        for bandwidth in (
            "1GB/s",
            "1GB/s:total=2GB/s",
            "1GB/s:half-duplex",
            "1GB/s:total=1.5GB/s",
        )
    )
    assert full.key == same.key
    assert "total_bandwidth_bytes_per_s" not in full.to_json()
    assert len({full.key, half.key, between.key}) == 3
    assert Job.from_json(json.loads(json.dumps(between.to_json()))) == between
