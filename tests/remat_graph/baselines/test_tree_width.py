"""Schedules by tree decompositions: valid ones, of little memory on chains, above every bound."""

from __future__ import annotations

import random
from itertools import combinations

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit
from jettison.solvers.remat_graph.baselines.tree_width import (
    TreeDecomposition,
    computations_by_separators,
)
from tests.drawing.graphs import random_graph, tight
from tests.remat_graph.oracles.brute_force import least_time_ns
from tests.remat_graph.result_graphs import graph_of_runs

OPTIONS = SolveOptions(time_limit_s=None)
NO_LIMIT = PlanLimit(None, Clock(None))


def training_chain(layers: int) -> Graph:
    """Return a chain forward and backward, of values of one byte and times of 1 ns."""
    names = [f"f{i}" for i in range(layers)]
    nodes = [
        Node(name=name, duration_ns=1, output_bytes=1, inputs=tuple(names[i - 1 : i]))
        for i, name in enumerate(names)
    ]
    for i in reversed(range(layers)):
        read = [names[i], names[-1] if i == layers - 1 else f"b{i + 1}"]
        inputs = tuple(dict.fromkeys(read))
        nodes.append(Node(name=f"b{i}", duration_ns=1, output_bytes=1, inputs=inputs))
    return Graph("chain", tuple(nodes))


def test_bags_hold_every_edge_and_those_of_a_node_are_connected() -> None:
    for seed in range(40):
        graph = random_graph(random.Random(seed), 12)
        tree = TreeDecomposition(graph, Clock(None))
        for node, inputs in enumerate(graph.inputs):
            for source in inputs:
                assert any({node, source} <= bag for bag in tree.bags)
        for node in range(len(graph)):
            holding = [other for other, bag in enumerate(tree.bags) if node in bag]
            assert len(list(tree.parts(holding))) == 1, seed
        # A forest: as many edges as bags, less one for each tree.
        edges = sum(map(len, tree.beside)) // 2
        assert edges == len(graph) - len(list(tree.parts(range(len(graph)))))


def test_the_width_of_a_chain_is_one_and_that_of_a_clique_is_all_others() -> None:
    chain = Graph(
        "chain",
        tuple(
            Node(name=f"{i}", duration_ns=1, inputs=(f"{i - 1}",) if i else ()) for i in range(9)
        ),
    )
    assert TreeDecomposition(chain, Clock(None)).width == 1
    clique = Graph(
        "clique",
        tuple(
            Node(name=f"{i}", duration_ns=1, inputs=tuple(f"{j}" for j in range(i)))
            for i in range(5)
        ),
    )
    assert TreeDecomposition(clique, Clock(None)).width == 4


def test_every_size_of_undivided_parts_gives_a_valid_schedule() -> None:
    for seed in range(40):
        graph = random_graph(random.Random(seed), 12)
        tree = TreeDecomposition(graph, Clock(None))
        for leaf in (12, 6, 3, 1):
            computations = computations_by_separators(graph, tree, leaf, NO_LIMIT)
            replay = GraphSchedule.from_computations(graph, computations).replay(graph)
            assert replay.valid, (seed, leaf, replay.violations)
            if leaf == 12:
                assert replay.time_ns == graph.base_time_ns


def test_on_a_long_chain_memory_grows_with_the_logarithm_of_its_length() -> None:
    peaks = {}
    for layers in (16, 64):
        graph = training_chain(layers)
        tree = TreeDecomposition(graph, Clock(None))
        computations = computations_by_separators(graph, tree, 1, NO_LIMIT)
        replay = GraphSchedule.from_computations(graph, computations).replay(graph)
        assert replay.valid
        peaks[layers] = replay.peak_bytes
        # Without recomputation all values of the forward pass are in memory, and two more.
        assert graph.store_all_peak_bytes >= layers
    assert peaks[64] < 3 * peaks[16]
    assert peaks[64] < 32


def test_no_schedule_is_faster_than_the_best_of_all() -> None:
    found = 0
    for seed in range(25):
        problem = tight(random.Random(seed), 6)
        result = solve_with(problem, "tree-width", OPTIONS)
        if result.schedule is not None:
            best_ns = least_time_ns(problem.instance, problem.memory_bytes)
            assert best_ns is not None
            assert result.time_ns is not None
            assert result.time_ns >= best_ns, seed
            found += 1
    assert found


def test_operators_with_several_results_are_scheduled_as_if_held_whole() -> None:
    for seed in range(15):
        graph = graph_of_runs(seed)
        result = solve_with(RematGraph(graph, 10**6), "tree-width", OPTIONS)
        assert result.time_ns == graph.base_time_ns


def test_parts_of_the_tree_do_not_read_each_other() -> None:
    for seed in range(20):
        graph = random_graph(random.Random(seed), 12)
        tree = TreeDecomposition(graph, Clock(None))
        whole = max(tree.parts(range(len(graph))), key=len)
        centre = tree.centre(whole, whole)
        rests = [rest - tree.bags[centre] for rest in tree.parts(whole, without=centre)]
        assert all(2 * len(rest) <= len(whole) for rest in rests)
        for one, other in combinations(rests, 2):
            assert not any(other.intersection(graph.inputs[node]) for node in one)
