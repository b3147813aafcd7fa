"""The least recomputation for given checkpoints."""

from __future__ import annotations

import random
from itertools import combinations

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.baselines.articulation_points import articulation_points
from jettison.solvers.remat_graph.baselines.checkpoints import (
    PlanLimit,
    computations_of_plan,
    schedule_of_checkpoints,
)
from tests.each import each
from tests.remat_graph.baselines.test_heuristics import tiny_graph

NO_LIMIT = PlanLimit(None, Clock(None))


def _graph(*inputs: tuple[int, ...], keep: int = -1, backward: int = 99) -> Graph:
    return Graph(
        "by hand",
        tuple(
            Node(
                name=f"n{position}",
                duration_ns=1,
                output_bytes=1,
                inputs=tuple(f"n{source}" for source in sources),
                keep=position == keep,
                backward=position >= backward,
            )
            for position, sources in enumerate(inputs)
        ),
    )


CHAIN = _graph((), (0,), (1,), (2,), (0, 3))


def test_a_stage_recomputes_what_it_lacks_and_nothing_else() -> None:
    # Stage 3 begins with 1 and lacks 2. Stage 4 begins with 3 and lacks 0.
    stored = [[], [0], [1], [1], [3]]
    assert schedule_of_checkpoints(CHAIN, stored).computations == (0, 1, 2, 2, 3, 0, 4)


def test_a_stage_recomputes_what_the_next_one_begins_with() -> None:
    # 0 goes when stage 2 begins and is stored for stage 4: stage 3 computes it, which only needs 2.
    stored = [[], [0], [1], [2], [0, 3]]
    assert schedule_of_checkpoints(CHAIN, stored).computations == (0, 1, 2, 0, 3, 4)


def test_what_is_stored_in_vain_is_freed_early() -> None:
    stored = [[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    peak = schedule_of_checkpoints(CHAIN, stored).replay(CHAIN).peak_bytes
    assert peak == CHAIN.store_all_peak_bytes


def test_kept_values_stay_without_being_asked_for() -> None:
    graph = _graph((), (0,), (1,), (1, 2), keep=1)
    plan = computations_of_plan(graph, lambda stage, computed: range(stage), NO_LIMIT)
    # 0; 0 and 1, which stays; 2 from it; 2 again and 3.
    assert plan == [0, 0, 1, 2, 2, 3]
    assert GraphSchedule.from_computations(graph, plan).replay(graph).valid


@each(seed=range(60))
def test_no_set_of_computations_costs_less_for_the_same_checkpoints(seed: int) -> None:
    # By trial: for each stage the cheapest set that holds the stage, gives what the next stage
    # begins with, and has every input in the set or in memory.
    graph = tiny_graph(seed)
    draw = random.Random(seed)
    count = len(graph)
    stored = [{node for node in range(stage) if draw.random() < 0.5} for stage in range(count)]
    least_ns = 0
    for stage in range(count):
        following = stored[stage + 1] if stage + 1 < count else set()
        allowed = [
            sum(graph.nodes[node].duration_ns for node in chosen)
            for size in range(stage + 2)
            for chosen in map(set, combinations(range(stage + 1), size))
            if stage in chosen
            and following <= stored[stage] | chosen
            and all(set(graph.inputs[node]) <= stored[stage] | chosen for node in chosen)
        ]
        least_ns += min(allowed)
    replay = schedule_of_checkpoints(graph, stored).replay(graph)
    assert replay.valid
    # Less, where what was stored is never read.
    assert replay.time_ns <= least_ns


def test_an_edge_across_a_node_means_that_it_is_no_articulation_point() -> None:
    # 0 -> 1 -> 2 -> 3 -> 4 -> 5 with an edge 1 -> 3: 2 is bypassed. 5 is the end.
    graph = _graph((), (0,), (1,), (1, 2), (3,), (4,))
    assert articulation_points(graph) == (0, 1, 3, 4)


def test_backward_nodes_do_not_bypass_anything() -> None:
    graph = _graph((), (0,), (1,), (2, 1), (3, 0), backward=3)
    assert articulation_points(graph) == (0, 1)
