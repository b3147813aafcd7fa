"""Searches whose shares are of the work find the same however fast or busy a machine is."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from jettison import RematGraph, RematSharding, Result, ShardedGraph, Sharding, load
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.cuts.restricted_method import RestrictedParams, solve_restricted
from jettison.solvers.remat_graph.orders.bound_method import AnyOrderParams, bound_any_order
from jettison.solvers.remat_graph.orders.method import solve_orders
from jettison.solvers.remat_sharding.exact.method import solve_sharded_exact
from jettison.solvers.remat_sharding.exact.search import ShardedParams
from jettison.solvers.remat_sharding.kiwi.reduced import solve_kiwi_reduced
from jettison.solvers.sharding.exact.method import solve_sharding_exact
from tests.core.other_machines import MACHINES, without_seconds
from tests.drawing.graphs import tight

# Far away, also on a clock that is five times as fast.
OPTIONS = SolveOptions(time_limit_s=500.0)
SHORT = SolveOptions(time_limit_s=500.0, most_moves=150_000)


def perceptron() -> RematSharding:
    sharded = load("mlp-26-mesh1x4")
    assert isinstance(sharded, ShardedGraph)
    return RematSharding(sharded, "60%")


# Each with shares of the work that end runs of HiGHS, or annealing, before they are over.
CASES: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Outcome]]] = {
    "restricted": (
        "remat_graph.cuts.restricted_method",
        lambda: RematGraph(LayeredGraphs(nodes=40, passes=Passes.TRAINING).draw(1), "60%"),
        lambda problem: solve_restricted(problem, OPTIONS, RestrictedParams(least_moves=5_000)),
    ),
    "any-order-bound": (
        "remat_graph.orders.bound_method",
        lambda: RematGraph(LayeredGraphs(nodes=20).draw(1), "60%"),
        lambda problem: bound_any_order(problem, OPTIONS, AnyOrderParams(first_moves=1_000)),
    ),
    "orders": (
        "remat_graph.orders.method",
        lambda: tight(random.Random(28), 12),
        lambda problem: solve_orders(problem, SHORT),
    ),
    "exact": (
        "remat_sharding.exact.method",
        perceptron,
        lambda problem: solve_sharded_exact(problem, OPTIONS, ShardedParams(least_moves=5_000)),
    ),
    # Reductions, messages and baselines each end with their share.
    "sharding": (
        "sharding.exact.method",
        lambda: Sharding(StrategyGraphs(nodes=80, limit_percent=60).draw(1)),
        lambda problem: solve_sharding_exact(problem, replace(OPTIONS, most_moves=40_000)),
    ),
    "kiwi-reduced": (
        "remat_sharding.kiwi.reduced",
        perceptron,
        lambda problem: solve_kiwi_reduced(problem, SHORT),
    ),
}


def found(name: str) -> str:
    _, pose, solve = CASES[name]
    problem = pose()
    return without_seconds(Result.from_outcome(problem, name, solve(problem), 0.0))


@contextmanager
def load_beside() -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_same_on_faster_slower_and_busy_machines(name: str) -> None:
    module, *_ = CASES[name]
    undisturbed = found(name)
    for machine in MACHINES:
        with patch(f"jettison.solvers.{module}.Clock", machine):
            assert found(name) == undisturbed, machine
    with load_beside():
        assert found(name) == undisturbed
