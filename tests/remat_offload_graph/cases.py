"""Random tiny graphs with a link and a memory, and random sequences of operations on them."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison import Graph, Link
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.remat_graph import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)
from tests.drawing.graphs import random_graph
from tests.remat_graph.result_graphs import graph_of_runs, graph_with_results, some_computed_once

# A byte per 4 ns, per ns, 2 bytes per ns, and 3 bytes in 2 ns, so that times are rounded.
RATES = (250_000_000, 10**9, 2 * 10**9, 1_500_000_000)


def tiny_graph(chance: random.Random, most_nodes: int = 5) -> Graph:
    """Draw a graph: of single values, with results, in runs, with nodes that run once or stay."""
    form = chance.randrange(4)
    seed = chance.randrange(10**6)
    if form == 0:
        graph = graph_with_results(seed, 3)
    elif form == 1:
        graph = graph_of_runs(seed, 3)
    else:
        graph = random_graph(chance, chance.randint(2, most_nodes))
    if len(graph) > most_nodes:
        return tiny_graph(chance, most_nodes)
    if chance.random() < 0.3:
        graph = some_computed_once(graph, chance)
    if chance.random() < 0.3:
        stays = chance.randrange(len(graph))
        nodes = tuple(
            replace(node, offload=place != stays) for place, node in enumerate(graph.nodes)
        )
        graph = replace(graph, nodes=nodes)
    return graph


def tiny_problem(chance: random.Random, most_nodes: int = 5) -> RematOffloadGraph:
    """Draw a graph with a link, in less memory than its order takes but for one in ten."""
    graph = tiny_graph(chance, most_nodes)
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes - 1
    if least > most and chance.random() < 0.9:
        return tiny_problem(chance, most_nodes)
    memory_bytes = chance.randint(least, max(least, most))
    return RematOffloadGraph(graph, memory_bytes, Link(chance.choice(RATES)))


Operation = GraphOperation | ValueTransfer


def random_operations(graph: Graph, chance: random.Random, *, most: int = 60) -> list[Operation]:
    """Draw operations that break no rule, until everything is computed and kept, or `most`."""
    stored: set[int] = set()
    hosted: set[int] = set()
    computed: set[int] = set()
    found: list[Operation] = []
    before = -1
    kept = {i for i, node in enumerate(graph.nodes) if node.keep}
    while len(found) < most and not (len(computed) == len(graph) and kept <= stored):
        moves: list[Operation] = []
        for i, node in enumerate(graph.nodes):
            is_over = any(
                source in graph.results_after and not source <= before < i
                for source in graph.inputs[i]
            )
            is_again = i in computed and i in graph.computed_once
            if set(graph.inputs[i]) <= stored and not is_over and not is_again:
                weight = 6 if i not in computed else 1
                moves += [GraphOperation(GraphOperationKind.COMPUTE, i)] * weight
            if i in stored and (i in hosted or i not in graph.computed_once):
                moves.append(GraphOperation(GraphOperationKind.FREE, i))
            if i in stored and node.offload and node.has_value:
                moves.append(ValueTransfer(ValueTransferKind.OFFLOAD, i))
            if i in hosted - stored:
                moves += [ValueTransfer(ValueTransferKind.PREFETCH, i)] * 2
        if not moves:
            break
        move = chance.choice(moves)
        found.append(move)
        if isinstance(move, ValueTransfer):
            (hosted if move.is_offload else stored).add(move.node)
            before = before if move.is_offload else -1
        elif move.kind is GraphOperationKind.FREE:
            stored.discard(move.node)
        else:
            stored.add(move.node)
            computed.add(move.node)
            before = move.node
    return found
