"""Conversion of a graph into arrays for the kernels."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_graph.graph import Graph


class GraphArrays(TypedDict):
    """Arrays of a graph, with one entry per node in the order of the graph.

    The inputs of node `i` are `inputs[input_start[i]:input_start[i + 1]]`, ascending positions.
    """

    duration_ns: NDArray[np.int64]
    output_bytes: NDArray[np.int64]
    workspace_bytes: NDArray[np.int64]
    keep: NDArray[np.uint8]
    input_start: NDArray[np.int32]
    inputs: NDArray[np.int32]


def annealing_arrays(graph: Graph, memory_bytes: int) -> tuple[GraphArrays, int]:
    r"""Return the arrays and the limit with which annealing finds schedules of a graph.

    The kernels know no operators without a value. Their values, of which nothing is stored, stand
    for :math:`X = B + 1` bytes there, all nodes but them and their results have :math:`X` bytes
    more of workspace, and the limit is :math:`B + X`. So each computation uses :math:`X` more than
    it does, and twice that where the value of an operator is in memory while another node than its
    results is computed, which is above the limit. :math:`O(n + |E|)`.
    """
    arrays = graph_arrays(graph)
    if not graph.results_after:
        return arrays, memory_bytes
    more_bytes = memory_bytes + 1
    in_runs = {*graph.results_after, *(i for run in graph.results_after.values() for i in run)}
    for node in range(len(graph)):
        if node in graph.results_after:
            arrays["output_bytes"][node] = more_bytes
        elif node not in in_runs:
            arrays["workspace_bytes"][node] += more_bytes
    return arrays, memory_bytes + more_bytes


def graph_arrays(graph: Graph) -> GraphArrays:
    """Return the arrays of a graph. :math:`O(n + |E|)`."""
    return {
        "duration_ns": np.array([node.duration_ns for node in graph.nodes], dtype=np.int64),
        "output_bytes": np.array([node.output_bytes for node in graph.nodes], dtype=np.int64),
        "workspace_bytes": np.array([node.workspace_bytes for node in graph.nodes], dtype=np.int64),
        "keep": np.array([node.keep for node in graph.nodes], dtype=np.uint8),
        "input_start": np.cumsum([0, *map(len, graph.inputs)], dtype=np.int32),
        "inputs": np.array([source for row in graph.inputs for source in row], dtype=np.int32),
    }
