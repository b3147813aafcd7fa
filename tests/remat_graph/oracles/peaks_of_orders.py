"""Least peak of tiny graphs over all orders that compute everything once, by trying each order.

Memory is counted from the definition, anew at each place: what has been computed and will be read
later, or is kept, the output and the workspace. Results of an operator without a value stand right
after it in an order, and are in memory with it.
"""

from __future__ import annotations

from itertools import permutations

from jettison.instances.remat_graph.graph import Graph


def least_peak_bytes(graph: Graph) -> int:
    """Least peak of any order in which each node comes after its inputs."""
    units: list[list[int]] = []
    for i, node in enumerate(graph.nodes):
        owner = None if node.result_of is None else graph.position_of[node.result_of]
        if owner is not None and not graph.nodes[owner].has_value:
            units[-1].append(i)
        else:
            units.append([i])
    found = []
    for chosen in permutations(units):
        order = [i for unit in chosen for i in unit]
        place = {i: at for at, i in enumerate(order)}
        inputs = [{graph.position_of[name] for name in node.inputs} for node in graph.nodes]
        if all(place[p] < place[i] for i in place for p in inputs[i]):
            found.append(_peak(graph, order, inputs))
    return min(found)


def _peak(graph: Graph, order: list[int], inputs: list[set[int]]) -> int:
    peak = 0
    for at, i in enumerate(order):
        rest = set().union(*(inputs[j] for j in order[at:]))
        stored = sum(
            graph.nodes[j].output_bytes for j in order[:at] if j in rest or graph.nodes[j].keep
        )
        node = graph.nodes[i]
        peak = max(peak, stored + node.output_bytes + node.workspace_bytes)
    return peak
