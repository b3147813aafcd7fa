r"""Least peak of any choice of strategies, whatever its cost.

The rows are those of `sharding_ilp`, with one more column, the peak :math:`P \ge 0`:

.. math::
    \min\ & P \\
    \text{peak:}\quad & \sum_i \sum_{a \in K_i} u_{ria} s_{ia} \le P + M_r - M && \forall r

where :math:`M` is the memory and :math:`M_r` what the least usages leave of it in row r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.sharding.ilp import add_choices, strategies_of
from jettison.formulations.sharding.pairwise_choice import PairwiseChoice


@dataclass(frozen=True, slots=True)
class ShardingPeak:
    """Built model, with the meaning of its columns.

    Attributes
    ----------
    model
        The model; its objective is the peak.
    bytes_scale
        Scale of the peak.
    columns
        As in `ShardingIlp`.
    """

    model: ArrayModel
    bytes_scale: IntegerScale
    columns: tuple[NDArray[np.int64], ...]

    def choice(self, values: Floats) -> tuple[int, ...]:
        """Return the strategy of each node in an integer point, shape (n,)."""
        return strategies_of(self.columns, values)


def sharding_peak(data: PairwiseChoice, memory_bytes: int) -> ShardingPeak:
    """Build the model; costs are left out.

    Parameters
    ----------
    data
        Choices and limits, of a problem with `memory_bytes` of memory.
    memory_bytes
        The memory that the capacities of the limits are parts of.

    Notes
    -----
    Time linear in the number of allowed pairs.
    """
    free = replace(
        data,
        costs=[_without_costs(costs) for costs in data.costs],
        tables={
            ends: [_without_costs(costs) for costs in table] for ends, table in data.tables.items()
        },
    )
    least = [memory_bytes - limit.capacity for limit in data.limits]
    usages = [u for limit in data.limits for values in limit.usages.values() for u in values]
    scale = IntegerScale.of([*least, *usages])
    builder = ArrayModelBuilder("sharding_peak")
    columns, _ = add_choices(builder, free, IntegerScale(1, 1))
    peak = builder.add_column("peak", cost=1)
    for limit, base in zip(data.limits, least, strict=True):
        entries = [
            (int(columns[node][a]), usage)
            for node, values in limit.usages.items()
            for a, usage in enumerate(values)
            if usage and columns[node][a] >= 0
        ]
        builder.add_row(
            f"peak_{limit.name}",
            [*(column for column, _ in entries), peak],
            [*(scale.to_model(usage) for _, usage in entries), -1],
            upper=-scale.to_model(base),
        )
    return ShardingPeak(builder.build(), scale, columns)


def _without_costs(costs: Sequence[int | None]) -> list[int | None]:
    return [None if cost is None else 0 for cost in costs]
