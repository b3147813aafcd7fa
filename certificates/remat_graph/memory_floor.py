r"""Memory floor of a graph: the needs of single operations, and of the kept values together.

There are no columns: a step of any kind computes every node at least once, so that its time is at
least :math:`\sum_i C_i`, the offset, and in memory :math:`B` it needs

.. math::
    M_i + W_i + \sum_{p \in \mathrm{in}(i)} M_p \le B \quad \forall i, \qquad
    \sum_{i \in K} M_i \le B :

while :math:`i` is computed its output, its workspace and its inputs are in memory, at the end the
kept nodes are. Rows: ``running_i``, ``end``.

Version 1. No options.
"""

from __future__ import annotations

from ..header_fields import Fields, integer_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_graph import GivenGraph


def graph_memory_floor(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the rows, in linear time.

    Raises
    ------
    CertificateError
        If the instance is no graph, the memory is none, or there are options.
    """
    only_fields(resources, {"memory_bytes"}, "resources")
    only_fields(options, set(), "the formulation")
    graph = GivenGraph.from_json(instance)
    memory_bytes = integer_field(resources, "memory_bytes")
    model = IntegerModel(time_offset_ns=sum(graph.durations_ns))
    for node, inputs in enumerate(graph.inputs):
        read_bytes = sum(graph.output_bytes[source] for source in inputs)
        running_bytes = graph.output_bytes[node] + graph.workspace_bytes[node] + read_bytes
        model.at_most(f"running_{node}", [], [], memory_bytes - running_bytes)
    kept_bytes = sum(
        size for size, keep in zip(graph.output_bytes, graph.keep, strict=True) if keep
    )
    model.at_most("end", [], [], memory_bytes - kept_bytes)
    return StatedModel(model, "all schedules")
