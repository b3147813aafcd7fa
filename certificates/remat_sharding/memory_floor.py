r"""Memory floor of a sharded graph: the needs of single operators, and of the values at the end.

There are no columns: in memory :math:`B` every plan in the order of the graph needs

.. math::
    \sum_{p \in P_i \cup \mathrm{in}(i) \cup \{i\}} \min_k m_{pk} \le B \quad \forall i, \qquad
    \sum_{p \in P \cup K} \min_k m_{pk} \le B ,

the minimum being over strategies that are not forbidden, :math:`P_i` the parameters before
:math:`i`, :math:`P` all parameters and :math:`K` what is kept: while :math:`i` is computed its
output and its inputs are in memory beside the parameters that came before; at the end parameters
and kept values are. Rows: ``running_i``, ``end``.

Version 1. No options.
"""

from __future__ import annotations

from ..header_fields import Fields, integer_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_sharded_graph import GivenOperator, GivenShardedGraph


def sharded_memory_floor(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the rows, in time linear in the strategies and the inputs.

    Raises
    ------
    CertificateError
        If the instance is no sharded graph, the memory is none, or there are options.
    """
    only_fields(resources, {"memory_bytes"}, "resources")
    only_fields(options, set(), "the formulation")
    sharded = GivenShardedGraph.from_json(instance)
    memory_bytes = integer_field(resources, "memory_bytes")
    model = IntegerModel()
    least = [_least_bytes(operator) for operator in sharded.operators]
    parameters, parameter_bytes = set[int](), 0
    for number, operator in enumerate(sharded.operators):
        beside = {number, *operator.inputs} - parameters
        running_bytes = parameter_bytes + sum(least[other] for other in beside)
        model.at_most(f"running_{number}", [], [], memory_bytes - running_bytes)
        if operator.role == "parameter":
            parameters.add(number)
            parameter_bytes += least[number]
    end_bytes = sum(
        size
        for size, operator in zip(least, sharded.operators, strict=True)
        if operator.keep or operator.role == "parameter"
    )
    model.at_most("end", [], [], memory_bytes - end_bytes)
    return StatedModel(model, "in-order")


def _least_bytes(operator: GivenOperator) -> int:
    """Return the least size of the value; 0 where every strategy is forbidden."""
    return min(
        (
            size
            for size, cost_ns in zip(operator.memory_bytes, operator.cost_ns, strict=True)
            if cost_ns is not None
        ),
        default=0,
    )
