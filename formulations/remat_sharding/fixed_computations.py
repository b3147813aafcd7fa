r"""Fastest strategies of a sharded graph for a fixed sequence of computations.

The rows (one), (from) and (to) of `strategy_columns`, with :math:`\nu_i` the number of times that
:math:`i` is computed. At computation :math:`c` the operators :math:`V_c` are in memory, each freed
after its last read before it is computed next (`ShardedSchedule.from_computations`), which does
not depend on the strategies:

.. math::
    \text{(objective)} \quad & \min \sum_{i,k} \nu_i t_{ik} s_{ik}
        + \sum_{(j,i),a,b} \nu_i X^{ji}_{ab} e^{ji}_{ab} \\
    \text{(memory)} \quad & \sum_{i \in V_c} \sum_k m_{ik} s_{ik} \le B
        && \forall c \text{ in the model}

with the symbols of `windows`; rows of memory are named ``memory_c``. Without
recomputation this is the problem of Alpa (Zheng et al., OSDI 2022), with the memory at each time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_sharding.chosen_strategies_model import ChosenStrategiesModel
from jettison.formulations.remat_sharding.strategy_columns import StrategyColumns
from jettison.instances.core.errors import InputError
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind


@dataclass(frozen=True)
class FixedComputations:
    """Fixed computations, and those of them at which the model has a memory row.

    Attributes
    ----------
    operations
        Operations of a plan, as in `ShardedSchedule`.
    looked_at
        Computations, counted from 0, at which memory is limited.

    Raises
    ------
    InputError
        If there is no such computation.
    """

    operations: tuple[GraphOperation, ...]
    looked_at: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        count = sum(item.kind is GraphOperationKind.COMPUTE for item in self.operations)
        for place in self.looked_at:
            if not 0 <= place < count:
                raise InputError(
                    f"{place}", field="looked_at", expected=f"name computations, 0 to {count - 1}"
                )

    def build(self, problem: RematSharding) -> ChosenStrategiesModel:
        """Build the model, in time linear in the graph and in the values in memory at each row."""
        sharded = problem.instance
        times = Counter(
            item.node for item in self.operations if item.kind is GraphOperationKind.COMPUTE
        )
        builder = ArrayModelBuilder("fixed_computations")
        choices = StrategyColumns(builder, sharded, [times[i] for i in range(len(sharded))])
        choices.write()
        limit = choices.memory_scale.to_model(problem.memory_bytes)
        resident: set[int] = set()
        place = 0
        for operation in self.operations:
            if operation.kind is GraphOperationKind.FREE:
                resident.discard(operation.node)
                continue
            resident.add(operation.node)
            if place in self.looked_at:
                columns, sizes = choices.sizes(resident)
                builder.add_row(f"memory_{place}", columns, sizes, upper=limit)
            place += 1
        return ChosenStrategiesModel(sharded, builder.build(), choices.s)
