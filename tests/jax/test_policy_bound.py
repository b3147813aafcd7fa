"""Bounds of plans against saved sets that save no separator, which the search forces at first."""

from __future__ import annotations

from typing import Any

import pytest

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

import jax.numpy as jnp  # noqa: E402

from jettison.jax import checkpointed  # noqa: E402
from jettison.solvers.remat_graph.saved_sets.search import (  # noqa: E402
    SavedSetSearch,
    best_saved_set,
)

pytestmark = pytest.mark.jax


def narrowing(weights: Any, x: Any) -> Any:
    """Layers whose inner values are smaller than the sum that runs along them."""
    for down, up in weights:
        x = x + jnp.tanh(x @ down) @ up
    return jnp.mean(x * x)


def test_the_bound_holds_for_saved_sets_that_compute_separators_again() -> None:
    # Drawn by NumPy: JAX would compile each of its operations.
    draw = np.random.default_rng(0)
    weights = [
        tuple(
            jnp.asarray(draw.standard_normal(shape, np.float32)) for shape in ((32, 16), (16, 32))
        )
        for _ in range(3)
    ]
    planned = checkpointed(narrowing, weights, jnp.ones((64, 32)), memory="85%", compilations=2)
    plan, graph = planned.plan, planned.graph
    forward = [place for place, node in enumerate(graph.nodes) if not node.backward]
    # The first layer has no sum beside it, and what the loss makes of the last sum is squares.
    equations = {"dot_general.0", "tanh.0", "dot_general.1", "add.0", "add.1", "add.2", "mul.0"}
    names = {f"jettison/{name}" for name in equations}
    separators = [place for place in forward if graph.nodes[place].name in names]
    assert len(separators) == len(names)
    assert plan.bound_limit_bytes == max(plan.limit_bytes, plan.predicted_peak_bytes)
    other = best_saved_set(graph, plan.bound_limit_bytes, forward)
    assert not other.saved.issuperset(separators)
    separated = SavedSetSearch(graph, plan.bound_limit_bytes, forward, separators)
    separated.run()
    # A bound for those that save all separators is above what this one takes.
    assert plan.bound_ns <= other.replay.time_ns < separated.bound_ns
    assert plan.bound_ns <= plan.predicted_time_ns
    assert graph.base_time_ns * (1 + plan.least_overhead) == pytest.approx(plan.bound_ns)
