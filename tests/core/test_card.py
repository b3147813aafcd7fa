"""Cards: what is read, what is resident by default, and plans in what a card leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jettison as jt
from jettison.instances.catalog import instance_of
from jettison.instances.core.card import Card, Resident, ResidentSource, card_keys
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import parse_memory
from jettison.instances.core.named_cards import NAMED_CARDS
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_graph.chain_to_graph import graph_memory_bytes
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.resources import Resources
from tests.remat_sharding.tiny_sharded import SHARDED_GRAPHS
from tests.tiny import GRAPHS, STRATEGY_GRAPHS
from tests.tiny_models import MULTI_MODELS

GIB = 2**30
LINK = 10**9


def _stage(name: str, up: int, down: int, output: int, saved: int, **others: int) -> Stage:
    return Stage(
        name=name,
        forward_ns=up,
        backward_ns=down,
        output_bytes=output,
        saved_bytes=saved,
        **others,
    )


# Weights of 8 and 4 bytes, as many of gradients, and 5 of states.
CHAIN = Chain(
    "trained",
    2,
    (
        _stage("first", 3, 5, 4, 9, weight_bytes=8, optimizer_state_bytes=5),
        _stage("second", 2, 7, 3, 6, weight_bytes=4),
        _stage("loss", 1, 1, 0, 2),
    ),
)
BARE = replace(
    CHAIN,
    stages=tuple(replace(item, weight_bytes=0, optimizer_state_bytes=0) for item in CHAIN),
)
RECORDED = 2 * (8 + 4) + 5

# For each problem, how it is made in a memory, and the bytes that it takes off a card by default.
PROBLEMS: dict[str, tuple[Any, dict[str, Any], int, ResidentSource]] = {
    "remat-chain": (CHAIN, {}, RECORDED, ResidentSource.INSTANCE),
    "remat-offload-chain": (CHAIN, {"bandwidth": LINK}, RECORDED, ResidentSource.INSTANCE),
    "weight-offload": (CHAIN, {"bandwidth": LINK}, 5, ResidentSource.INSTANCE),
    "training-chain": (CHAIN, {"bandwidth": LINK}, 0, ResidentSource.ALL_PLANNED),
    "pipeline-chain": (CHAIN, {"devices": 2, "microbatches": 2}, 0, ResidentSource.ALL_PLANNED),
    "remat-graph": (
        replace(GRAPHS[0], resident_bytes=11),
        {},
        11,
        ResidentSource.INSTANCE,
    ),
    "remat-offload-graph": (
        replace(GRAPHS[0], resident_bytes=11),
        {"bandwidth": LINK},
        11,
        ResidentSource.INSTANCE,
    ),
    "remat-arena": (
        replace(GRAPHS[0], resident_bytes=11),
        {},
        11,
        ResidentSource.INSTANCE,
    ),
    "remat-sharding": (SHARDED_GRAPHS[0], {}, 0, ResidentSource.ALL_PLANNED),
    "sharding": (STRATEGY_GRAPHS[0], {}, 0, ResidentSource.ALL_PLANNED),
    "multi-model": (MULTI_MODELS[0], {}, 0, ResidentSource.ALL_PLANNED),
}
TYPES = {
    "remat-chain": jt.RematChain,
    "remat-offload-chain": jt.RematOffloadChain,
    "weight-offload": jt.WeightOffload,
    "training-chain": jt.TrainingChain,
    "pipeline-chain": jt.PipelineChain,
    "remat-graph": jt.RematGraph,
    "remat-offload-graph": jt.RematOffloadGraph,
    "remat-arena": jt.RematArena,
    "remat-sharding": jt.RematSharding,
    "sharding": jt.Sharding,
    "multi-model": jt.MultiModelTraining,
}


def posed(kind: str, memory: object) -> Problem:
    instance, others, _, _ = PROBLEMS[kind]
    made: Problem = TYPES[kind](instance, memory, **others)
    return made


def test_every_problem_takes_a_card() -> None:
    assert set(PROBLEMS) == set(TYPES)
    from jettison.solvers.core.registry import PROBLEM_KINDS

    assert set(PROBLEM_KINDS.names) == set(PROBLEMS)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_what_is_resident_by_default_is_what_the_problem_does_not_plan(kind: str) -> None:
    _, _, resident, source = PROBLEMS[kind]
    problem = posed(kind, Card(10_000))
    assert problem.memory_bytes == 10_000 - resident
    card = problem.memory
    assert isinstance(card, Card)
    assert (card.resident_bytes, card.resident_source) == (resident, source)
    # What is said counts in place of what is recorded, and so does nothing at all.
    assert posed(kind, Card(10_000, 100)).memory_bytes == 9_900
    assert posed(kind, Card(10_000, 0)).memory_bytes == 10_000
    assert posed(kind, "card=10000B:resident=100B") == posed(kind, Card(10_000, 100))


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_plan_on_a_card_is_the_plan_in_what_is_left(kind: str) -> None:
    limit, resident = 4_000, 700
    on_card = jt.solve(posed(kind, Card(limit + resident, resident)), time_limit=2)
    in_memory = jt.solve(posed(kind, limit), time_limit=2)
    assert on_card.schedule is not None
    assert (on_card.time_ns, on_card.peak_bytes) == (in_memory.time_ns, in_memory.peak_bytes)
    found, plain = on_card.to_json(), in_memory.to_json()
    assert on_card.peak_bytes is not None
    assert found["memory_bytes"] == plain["memory_bytes"] == limit
    assert found["card_bytes"] == limit + resident
    assert found["resident_bytes"] == resident
    assert found["resident_source"] == "given"
    assert found["card_peak_bytes"] == on_card.peak_bytes + resident
    assert found["least_card_bytes"] is None
    assert {key: plain[key] for key in card_keys(None, None, None)} == card_keys(None, None, None)


@pytest.mark.parametrize("kind", ["remat-chain", "remat-graph", "weight-offload"])
def test_an_infeasible_card_comes_with_the_least_card(kind: str) -> None:
    resident = 50
    result = jt.solve(posed(kind, Card(resident + 1, resident)), time_limit=5)
    found = result.to_json()
    least = found["least_memory_bytes"]
    assert isinstance(least, int)
    assert found["least_card_bytes"] == least + resident
    verdict = jt.bound(posed(kind, Card(resident + 1, resident)), time_limit=5).to_json()
    assert verdict["least_card_bytes"] == least + resident
    # The card that it names is one that is enough.
    assert jt.solve(posed(kind, Card(least + resident, resident)), time_limit=5).schedule


def test_an_instance_that_records_nothing_takes_nothing_off_and_says_so() -> None:
    card = jt.RematChain(BARE, Card(100)).memory
    assert isinstance(card, Card)
    assert (card.resident_bytes, card.limit_bytes) == (0, 100)
    assert card.resident_source is ResidentSource.NOT_RECORDED
    assert BARE.resident_bytes is None
    assert CHAIN.resident_bytes == RECORDED


def test_the_reserve_of_a_chain_as_a_graph_is_no_part_of_the_card() -> None:
    # The graph's limit is larger by the reserve R; on a card that is neither used nor needed.
    resources = Resources(None, card="1000B", resident="900B")
    chain, graph = (pose_problem(kind, CHAIN, resources) for kind in ("remat-chain", "remat-graph"))
    assert chain.memory_bytes == 100
    assert graph.memory_bytes == graph_memory_bytes(CHAIN, 100)
    by_chain, by_graph = jt.solve(chain), jt.solve(graph, "exact", time_limit=20)
    assert by_chain.time_ns == by_graph.time_ns
    peak = by_graph.to_json()["card_peak_bytes"]
    assert isinstance(peak, int)
    assert 900 < peak <= 1000
    # The graph has what the chain records.
    assert graph.instance.to_json()["resident_bytes"] == RECORDED


def test_resident_bytes_of_a_graph_change_neither_its_hash_nor_its_peak() -> None:
    graph = GRAPHS[0]
    resident = replace(graph, resident_bytes=123)
    assert resident.sha256 == graph.sha256
    assert resident.store_all_peak_bytes == graph.store_all_peak_bytes
    assert "resident_bytes" not in graph.to_json()
    assert instance_of(resident.to_json(), "a graph").resident_bytes == 123  # type: ignore[union-attr]
    with pytest.raises(InputError, match="resident_bytes: -1 is negative"):
        replace(graph, resident_bytes=-1)


def test_a_certificate_speaks_of_the_limit_and_holds_no_resident_bytes(tmp_path: Path) -> None:
    problem = posed("remat-graph", Card(10_000, 100))
    verdict = jt.bound(problem, certify=True, time_limit=5)
    assert verdict.certificate is not None
    header = verdict.certificate.header
    assert header["resources"] == {"memory_bytes": 9_900}
    assert "resident_bytes" not in header["instance"]
    path = tmp_path / "c.gz"
    verdict.certificate.save(path)
    assert jt.check_certificate(path).claim.instance_sha256 == problem.instance.sha256


@pytest.mark.parametrize("name", NAMED_CARDS)
def test_a_named_card_has_less_than_its_label_says(name: str) -> None:
    card = Card(name)
    assert card.name == name
    assert card.card_bytes == NAMED_CARDS[name].usable_bytes
    label = int(NAMED_CARDS[name].device.split(", ")[1].removesuffix(" GB"))
    assert 0.9 * label * GIB < card.card_bytes < label * GIB
    assert str(card) == f"card {name}"


def test_texts_and_numbers_are_read_alike() -> None:
    assert Card("96GiB", "3GiB") == Card(96 * GIB, 3 * GIB)
    assert parse_memory("card=96GiB:resident=3GiB") == Card("96GiB", "3GiB")
    assert parse_memory(" card=t4 ", resident=lambda: Resident.recorded(7)) == Card(
        "t4", 7, resident_source=ResidentSource.INSTANCE
    )
    assert str(Card("96GiB", "3GiB")) == "card 96.00 GiB, resident 3.00 GiB"


@pytest.mark.parametrize(
    ("size", "resident", "message"),
    [
        ("96", None, "card: '96' has no unit; write the bytes of the card (96GiB), or its name"),
        (
            "a100-8",
            None,
            "card: there is no card 'a100-8'; write a100-80, or the bytes of",
        ),
        ("H100", None, "card: there is no card 'H100'; write h100-80 or h100-nvl-94, or the bytes"),
        (-1, None, "card: -1 is negative; write a whole number of bytes"),
        ("4GiB", "half", "resident: 'half' is not an amount of memory; write an amount (3GiB)"),
        ("4GiB", 2.5, "resident: 2.5 is not an integer; write a whole number of bytes"),
        ("4GiB", "5GiB", "resident: 5.00 GiB, and the card has 4.00 GiB; write at most the bytes"),
    ],
)
def test_a_card_that_cannot_be_is_refused_with_field_and_value(
    size: Any, resident: Any, message: str
) -> None:
    with pytest.raises(InputError) as info:
        Card(size, resident)
    assert str(info.value).startswith(message)


def test_recorded_bytes_that_are_too_many_are_called_by_their_name() -> None:
    with pytest.raises(InputError, match="29 B of weights, gradients and states in the instance"):
        jt.RematChain(CHAIN, Card(20))


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        (Resources("1GiB", card="2GiB"), "card: the card 2GiB is given, and memory 1GiB as well"),
        (Resources(None, "0.2", card="2GiB"), "card: the card 2GiB is given, and alpha 0.2 as"),
        (Resources("1GiB", resident="2GiB"), "resident: 2GiB is taken off a card, and none is"),
    ],
)
def test_a_card_is_the_only_memory(resources: Resources, message: str) -> None:
    with pytest.raises(InputError) as info:
        pose_problem("remat-chain", CHAIN, resources)
    assert str(info.value).startswith(message)
