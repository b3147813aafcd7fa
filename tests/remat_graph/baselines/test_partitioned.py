"""Plans of options of parts: valid, faster with more memory to choose from, above every bound."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_graph.baselines.partitioned import (
    PartitionedParams,
    graph_of_part,
    options_of_part,
    parts_of,
)
from tests.drawing.graphs import random_graph
from tests.remat_graph.baselines.test_tree_width import training_chain
from tests.remat_graph.oracles.brute_force import least_time_ns

OPTIONS = SolveOptions(time_limit_s=None)
SMALL = PartitionedParams(part_nodes=2, memories=3, most_moves=2000)


def test_each_part_comes_before_the_next_forward_and_after_it_backward() -> None:
    for seed in range(30):
        graph = random_graph(random.Random(seed), 14, first_backward=8)
        parts = parts_of(graph, 7, 3)
        assert sorted(node for part in parts for node in part) == list(range(14))
        part_of = {node: number for number, part in enumerate(parts) for node in part}
        for node, inputs in enumerate(graph.inputs):
            for source in inputs:
                if node <= 7:
                    assert part_of[source] <= part_of[node]
                else:
                    assert part_of[source] >= part_of[node]


def test_options_of_a_part_trade_time_for_what_is_saved() -> None:
    graph = LayeredGraphs(nodes=30, passes=Passes.TRAINING).draw(3)
    assert graph.last_forward is not None
    parts = parts_of(graph, graph.last_forward, 10)
    part = graph_of_part(graph, parts[0])
    forward = sum(node <= graph.last_forward for node in parts[0])
    options = options_of_part(part, forward, replace(OPTIONS, most_moves=2000), SMALL)
    assert options
    assert options[0].time_ns == part.base_time_ns
    for option in options:
        computed = option.forward + option.backward
        assert set(computed) == set(range(len(part)))
        assert option.time_ns == sum(part.nodes[i].duration_ns for i in computed)
        assert set(range(forward)) <= set(option.forward)


def test_no_plan_is_faster_than_the_best_of_all_and_every_plan_fits() -> None:
    found = 0
    for seed in range(20):
        chance = random.Random(seed)
        graph = random_graph(chance, 6, least=1, first_backward=3)
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        problem = RematGraph(graph, chance.randint(least, most))
        result = solve_with(problem, "partitioned", OPTIONS, SMALL)
        if result.schedule is None:
            assert result.note
            continue
        best_ns = least_time_ns(graph, problem.memory_bytes)
        assert best_ns is not None
        assert result.time_ns is not None
        assert result.time_ns >= best_ns, seed
        found += 1
    assert found >= 8


def test_a_chain_in_parts_takes_little_more_than_one_forward_pass() -> None:
    graph = training_chain(36)
    nodes = tuple(
        node if node.name.startswith("f") else replace(node, backward=True) for node in graph.nodes
    )
    marked = Graph("chain", nodes)
    params = PartitionedParams(part_nodes=6, most_moves=2000)
    # Six parts save 6 values at their ends, and need 7 for one of them, 16 at the least in all.
    times = []
    for memory_bytes in (16, 18, 20, 40):
        result = solve_with(RematGraph(marked, memory_bytes), "partitioned", OPTIONS, params)
        assert result.time_ns is not None
        times.append(result.time_ns)
    assert times == sorted(times, reverse=True)
    # Each forward operator once more at most, of 36.
    assert times[2] <= 72 + 36
    assert times[3] == 72


def test_graphs_without_marks_are_refused() -> None:
    result = solve_with(RematGraph(training_chain(4), "100%"), "partitioned", OPTIONS)
    assert result.status == "not-applicable"
