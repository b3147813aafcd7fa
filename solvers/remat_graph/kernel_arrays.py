"""Conversion of a graph into arrays for the kernels."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_graph.graph import Graph


class GraphArrays(TypedDict):
    """Arrays of a graph, with one entry per node in the order of the graph.

    The inputs of node `i` are `inputs[input_start[i]:input_start[i + 1]]`, ascending positions. Of
    an operator without a value and of its results `run_of` is the operator, of other nodes -1.
    """

    duration_ns: NDArray[np.int64]
    output_bytes: NDArray[np.int64]
    workspace_bytes: NDArray[np.int64]
    keep: NDArray[np.uint8]
    again: NDArray[np.uint8]
    run_of: NDArray[np.int32]
    input_start: NDArray[np.int32]
    inputs: NDArray[np.int32]


def graph_arrays(graph: Graph) -> GraphArrays:
    """Return the arrays of a graph. :math:`O(n + |E|)`."""
    return {
        "duration_ns": np.array([node.duration_ns for node in graph.nodes], dtype=np.int64),
        "output_bytes": np.array([node.output_bytes for node in graph.nodes], dtype=np.int64),
        "workspace_bytes": np.array([node.workspace_bytes for node in graph.nodes], dtype=np.int64),
        "keep": np.array([node.keep for node in graph.nodes], dtype=np.uint8),
        "again": np.array(
            [position not in graph.computed_once for position in range(len(graph))], dtype=np.uint8
        ),
        "run_of": np.array(
            [operator if operator in graph.results_after else -1 for operator in graph.operators],
            dtype=np.int32,
        ),
        "input_start": np.cumsum([0, *map(len, graph.inputs)], dtype=np.int32),
        "inputs": np.array([source for row in graph.inputs for source in row], dtype=np.int32),
    }
