"""The models of sharding, with and without recomputation, that certificates are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jettison import RematSharding, ShardedGraph, Sharding
from jettison.certificates.remat_sharding.kiwi_reduced_compact import kiwi_reduced_compact
from jettison.certificates.remat_sharding.strategies_only import sharding_only
from jettison.certificates.sharding.strategy_choice import strategy_choice
from jettison.core import CertificateError
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.remat_sharding.kiwi.compact import KiwiReducedCompact
from jettison.formulations.remat_sharding.strategies_only import (
    sharding_only as formulation_of_sharding_only,
)
from jettison.formulations.sharding.ilp import sharding_ilp
from jettison.formulations.sharding.pairwise_choice import PairwiseChoice
from tests.certificates.as_arrays import as_arrays, optimum
from tests.each import each
from tests.remat_sharding.oracles.brute_force import best_reduced_plan, best_staged_plan
from tests.remat_sharding.samples import any_order, training_steps
from tests.remat_sharding.tiny_sharded import LAYERS, WAITING
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph


def reduced(problem: RematSharding) -> ArrayModel:
    given = {"memory_bytes": problem.memory_bytes}
    stated = kiwi_reduced_compact(problem.instance.to_json(), given, {})
    assert stated.valid_for == "kiwi-reduced"
    assert stated.model.time_offset_ns == 0
    assert all(stated.model.is_integer)
    return as_arrays(stated.model)


def fastest(sharded: ShardedGraph) -> ArrayModel:
    stated = sharding_only(sharded.to_json(), {"memory_bytes": 0}, {})
    assert stated.valid_for == "all schedules"
    return as_arrays(stated.model)


def test_the_reduced_problem_s_model_has_the_optimum_of_the_brute_force() -> None:
    again = 0
    for problem in training_steps(seed=201, count=80):
        plan = best_reduced_plan(problem.instance, problem.memory_bytes)
        found = optimum(reduced(problem))
        assert (found is None) == (plan is None)
        if plan is not None and found is not None:
            assert round(found) == plan.time_ns
            again += len(plan.computations) > len(problem.instance)
    assert again >= 3


def test_the_reduced_problem_s_relaxation_is_that_of_the_formulation() -> None:
    for problem in training_steps(seed=202, count=30):
        built = KiwiReducedCompact().build(problem)
        known = optimum(built.model.relaxed())
        found = optimum(reduced(problem).relaxed())
        assert (found is None) == (known is None)
        if known is not None and found is not None:
            scale = built.time_scale
            # The formulation takes the least of all strategies off rows, this one of allowed ones.
            assert found >= known * scale.unit * scale.factor - 1e-6


def test_the_fastest_strategies_are_those_of_the_formulation_and_bound_every_plan() -> None:
    for problem in any_order(seed=203, count=40):
        sharded = problem.instance
        built = formulation_of_sharding_only(sharded)
        known, found = optimum(built.model), optimum(fastest(sharded))
        assert (found is None) == (known is None)
        if found is None or known is None:
            continue
        assert round(found) == built.time_scale.from_model(known)
        plan = best_staged_plan(sharded, problem.memory_bytes)
        assert plan is None or found <= plan.time_ns + 1e-6


@each(seed=range(20))
def test_choosing_strategies_has_the_optimum_of_the_brute_force(seed: int) -> None:
    graph = random_graph(seed, most_nodes=5)
    for memory in {least_peak(graph) or 0, graph.usage_sum_bytes}:
        stated = strategy_choice(graph.to_json(), {"memory_bytes": memory}, {})
        assert stated.valid_for == "all schedules"
        found = optimum(as_arrays(stated.model))
        expected = least_cost(graph, memory)
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            continue
        assert round(found) == expected
        built = sharding_ilp(PairwiseChoice.of(Sharding(graph, memory)))
        known = optimum(built.model.relaxed())
        relaxed = optimum(as_arrays(stated.model).relaxed())
        assert known is not None
        assert relaxed is not None
        scale = built.cost_scale
        assert relaxed >= built.offset + known * scale.unit * scale.factor - 1e-6


def changed(document: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """Return the document with another value at a path."""
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return document


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("kind",), "graph", "not a sharded-graph"),
        (("operators",), [], "1 to"),
        (("operators", 1, "name"), "x", "two operators"),
        (("operators", 2, "inputs"), ["top"], "not before it"),
        (("operators", 0, "inputs"), [3], "not before it"),
        (("operators", 1, "inputs"), ["x"], "'parameter' of 1 inputs"),
        (("operators", 2, "role"), "other", "'other'"),
        (("operators", 2, "strategies"), [], "no strategies"),
        (("operators", 3, "follows"), 7, "not before it"),
        (("operators", 2, "strategies", 0, "memory_bytes"), 2.5, "memory_bytes"),
        (("operators", 2, "strategies", 0, "compute_ns"), True, "compute_ns"),
        (("resharding", 0, "source"), "nobody", "unknown operator"),
        (("resharding", 0, "source"), "grad", "does not read it"),
        (("resharding", 0, "cost_ns"), [[0]], "is not 2 x 2"),
        (("resharding", 0, "cost_ns", 0, 0), -1, "cost_ns"),
    ],
)
def test_what_is_no_sharded_graph_is_refused(path: tuple[Any, ...], value: Any, said: str) -> None:
    document = changed(LAYERS.to_json(), *path, to=value)
    with pytest.raises(CertificateError, match=said):
        sharding_only(document, {"memory_bytes": 0}, {})


def test_a_follower_has_as_many_strategies_as_its_leader() -> None:
    document: Any = LAYERS.to_json()
    document["operators"][3]["strategies"].pop()
    with pytest.raises(CertificateError, match="as many strategies as its leader"):
        sharding_only(document, {"memory_bytes": 0}, {})


def test_a_reduced_problem_has_its_backward_operators_last() -> None:
    document: Any = WAITING.to_json()
    document["operators"][1]["role"] = "backward"
    with pytest.raises(CertificateError, match="after a backward one"):
        kiwi_reduced_compact(document, {"memory_bytes": 0}, {})


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("kind",), "graph", "not a strategy-graph"),
        (("nodes",), [], "1 to"),
        (("nodes", 1, "name"), "node 0", "two nodes"),
        (("nodes", 0, "interval"), [1], "not a pair"),
        (("nodes", 0, "interval"), [2, 1], "before it begins"),
        (("nodes", 0, "usages_bytes"), [], "lists differ"),
        (("edges", 0, "second"), "nobody", "does not join"),
        (("edges", 0, "costs_ns"), [1], "1 costs"),
        (("edges", 0), [1], "not an object"),
    ],
)
def test_what_is_no_strategy_graph_is_refused(path: tuple[Any, ...], value: Any, said: str) -> None:
    graph = random_graph(0)
    assert len(graph.edges) > 0
    assert len(graph.edges[0].costs_ns) > 1
    with pytest.raises(CertificateError, match=said):
        strategy_choice(changed(graph.to_json(), *path, to=value), {"memory_bytes": 0}, {})


@pytest.mark.parametrize("build", [kiwi_reduced_compact, sharding_only, strategy_choice])
def test_other_options_and_resources_are_refused(build: Callable[..., Any]) -> None:
    document = random_graph(0).to_json() if build is strategy_choice else LAYERS.to_json()
    with pytest.raises(CertificateError, match="unknown field"):
        build(document, {"memory_bytes": 1}, {"cuts": []})
    with pytest.raises(CertificateError, match="unknown field"):
        build(document, {"memory_bytes": 1, "bytes_per_s": 1}, {})
    with pytest.raises(CertificateError, match="memory_bytes"):
        build(document, {}, {})
