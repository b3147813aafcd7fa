"""Offloaded sets against the trial of all sets and all windows of their transfers."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import Graph
from jettison.formulations.remat_graph.offloaded_set import OffloadedSetModel
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Node
from jettison.schedules.remat_graph.offloaded_set import (
    OffloadedSet,
    Transfer,
    replay_offloaded_set,
)
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.saved_sets.link_plan import plan_transfers
from jettison.solvers.remat_graph.saved_sets.offload_search import (
    OffloadedSetSearch,
    OffloadParams,
    best_offloaded_set,
)
from jettison.solvers.remat_graph.saved_sets.search import SavedSetSearch
from tests.remat_graph.oracles.offloaded_sets_by_windows import fastest_offloaded_ns


def mirrored_step(seed: int) -> Graph:
    """Return a small step whose backward pass goes back through its forward pass."""
    draw = random.Random(seed)
    forward, backward = draw.randint(2, 4), draw.randint(2, 4)
    nodes: list[Node] = []
    for place in range(forward + backward):
        is_late = place >= forward
        near = {nodes[-1].name} if place else set()
        if is_late:
            near.add(nodes[max(0, min(forward - 1, 2 * forward - place - 1))].name)
        if place and draw.random() < 0.4:
            near.add(nodes[draw.randrange(place)].name)
        inputs = sorted(near)
        draw.shuffle(inputs)
        nodes.append(
            Node(
                name=f"n{place}",
                duration_ns=draw.randint(0, 5),
                output_bytes=draw.randint(0, 5) if not is_late else draw.randint(0, 2),
                workspace_bytes=draw.choice([0, 0, 2]),
                inputs=tuple(inputs[: draw.randint(1, 2)]),
                backward=is_late,
                keep=place == forward + backward - 1 or draw.random() < 0.1,
            )
        )
    return Graph(f"mirrored-{seed}", tuple(nodes))


def forward_of(graph: Graph) -> list[int]:
    return [place for place, node in enumerate(graph.nodes) if not node.backward]


def test_bound_exact_and_heuristic_enclose_the_best_of_all_sets_and_transfers() -> None:
    fitting = again = moved = gained = met = 0
    for seed in range(400):
        graph, draw = mirrored_step(seed), random.Random(-seed)
        memory_bytes = draw.randint(
            max(1, graph.store_all_peak_bytes * 2 // 3), graph.store_all_peak_bytes - 1
        )
        rate = draw.choice([1, 2, 3])
        link, forward = Link(rate * 10**9), forward_of(graph)
        best = fastest_offloaded_ns(graph, memory_bytes, rate)
        # The model of all nodes is exact, and one of a few is a bound.
        built = OffloadedSetModel(memory_bytes, link, range(len(graph)), forward).build(graph)
        solution = solve_model(built.model, HighsOptions(gap=0.0))
        few = draw.sample(range(len(graph)), 2)
        relaxed = OffloadedSetModel(memory_bytes, link, few, forward).build(graph)
        below = solve_model(relaxed.model, HighsOptions(gap=0.0))
        search = OffloadedSetSearch(
            graph, memory_bytes, link, forward, params=OffloadParams(all_rows=1, rounds=4)
        )
        found = search.run(time_limit_s=None)
        if best is None:
            assert solution.values is None, seed
            assert found is None, seed
            continue
        assert solution.dual_bound is not None, seed
        assert solution.values is not None, seed
        assert below.dual_bound is not None, seed
        base_ns = graph.base_time_ns
        exact_ns = base_ns + built.time_scale.bound_from_model(solution.dual_bound)
        assert exact_ns == best, seed
        assert base_ns + relaxed.time_scale.bound_from_model(below.dual_bound) <= best, seed
        saved, offloaded = built.sets(solution.values)
        windows = {value: built.window(solution.values, value) for value in offloaded}
        plan = plan_transfers(graph, saved, offloaded, link, windows)
        assert isinstance(plan, OffloadedSet), seed
        replay = replay_offloaded_set(graph, plan, link, memory_bytes)
        assert replay.is_valid, (seed, replay.violations)
        assert replay.time_ns == best, seed
        assert search.bound_ns <= best, seed
        fitting += 1
        again += best > base_ns
        moved += bool(plan.offloaded)
        without = SavedSetSearch(graph, memory_bytes, forward).run(time_limit_s=None)
        gained += without is None or without.replay.time_ns > best
        if found is not None:
            assert found.bound_ns <= best <= found.replay.time_ns, seed
            assert found.replay.is_valid, seed
            met += found.replay.time_ns == best
    assert (fitting, again, moved, gained, met) == (103, 58, 42, 32, 102)


def stack(layers: int = 3) -> Graph:
    """Return layers of 5 ns and 10 bytes, whose gradients take 8 ns and 4 bytes."""
    nodes = [Node(name="f0", duration_ns=5, output_bytes=10)]
    nodes += [
        Node(name=f"f{k}", duration_ns=5, output_bytes=10, inputs=(f"f{k - 1}",))
        for k in range(1, layers)
    ]
    before = f"f{layers - 1}"
    for k in reversed(range(layers)):
        nodes.append(
            Node(
                name=f"b{k}",
                duration_ns=8,
                output_bytes=4,
                inputs=(before, f"f{k}") if before != f"f{k}" else (before,),
                backward=True,
                keep=k == 0,
            )
        )
        before = f"b{k}"
    return Graph("stack", tuple(nodes))


def test_a_fast_link_makes_room_without_computing_anything_again() -> None:
    graph = stack()
    # f0 leaves beside f1, in 5 ns, and comes back beside b1: f0, f1, and gradients of 8 bytes.
    found = best_offloaded_set(graph, 28, Link(2 * 10**9), forward_of(graph))
    assert found.replay.time_ns == found.bound_ns == graph.base_time_ns
    assert found.plan.offloaded == {0}
    assert sum(item.duration_ns for item in found.plan.out) == 5
    # At 1 byte in 2 ns a transfer takes 20 ns, and the forward pass behind f0 takes 10.
    slow = best_offloaded_set(graph, 28, Link(5 * 10**8), forward_of(graph))
    assert slow.plan.offloaded == frozenset()
    assert slow.replay.time_ns == slow.bound_ns == graph.base_time_ns + 5


def test_each_broken_rule_of_a_transfer_is_named() -> None:
    graph, link = stack(), Link(2 * 10**9)
    plan = plan_transfers(graph, frozenset({1, 2}), frozenset({0}), link)
    assert isinstance(plan, OffloadedSet)
    assert replay_offloaded_set(graph, plan, link, 28).is_valid
    for wrong, message in (
        (replace(plan, out=()), "out: 0 of 5 ns of node 0"),
        (replace(plan, back=plan.back[1:]), "back: "),
        (replace(plan, out=(Transfer(0, 1, 6),)), "out: 6 ns beside node 1"),
        (replace(plan, out=(Transfer(0, 0, 5),)), "wrong pass or too early"),
        (replace(plan, out=(Transfer(0, 4, 5),)), "wrong pass or too early"),
        (replace(plan, back=(Transfer(0, 5, 5),)), "ends after the value is read"),
        (replace(plan, back=(Transfer(1, 3, 5),)), "no transfer of an offloaded value"),
        (replace(plan, saved=frozenset({0, 1, 2})), "cannot be offloaded"),
        (replace(plan, offloaded=frozenset({0, 5})), "cannot be offloaded"),
    ):
        violations = replay_offloaded_set(graph, wrong, link).violations
        assert any(message in item for item in violations), (message, violations)
    assert replay_offloaded_set(graph, plan, link, 20).violations == ("28 bytes in a memory of 20",)


def test_what_exceeds_every_set_is_refused_with_the_least_peak() -> None:
    with pytest.raises(InputError, match="bytes or more, by the model"):
        best_offloaded_set(stack(), 11, Link(10**9), forward_of(stack()))
