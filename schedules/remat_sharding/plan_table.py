"""Table of a sharded plan: strategy, number of computations and times of each operator."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from jettison.instances.remat_sharding.chosen_strategies import reading_cost_ns
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.schedule import ShardedSchedule

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOperator:
    """Row of the table: one operator of a plan, with the times of all its computations together.

    Attributes
    ----------
    operator, role, operation, scope
        As in the instance.
    strategy
        Name of the strategy that the plan gives it.
    computations
        How often it is computed; more than once if it is recomputed.
    compute_ns, communication_ns
        Times of its strategy.
    resharding_ns
        Time of resharding its inputs.
    memory_bytes
        Size of its value on one device.
    """

    operator: str
    role: str
    operation: str
    scope: str
    strategy: str
    computations: int
    compute_ns: int
    communication_ns: int
    resharding_ns: int
    memory_bytes: int

    @property
    def time_ns(self) -> int:
        """Total time of the operator."""
        return self.compute_ns + self.communication_ns + self.resharding_ns


def planned_operators(sharded: ShardedGraph, plan: ShardedSchedule) -> tuple[PlannedOperator, ...]:
    """Return the rows of the table, in the order of the graph; their times add up to the replay's.

    Parameters
    ----------
    sharded
        The instance.
    plan
        A plan whose strategies are allowed together.

    Notes
    -----
    :math:`O(n + |E| + k)` for `k` operations.
    """
    times = Counter(plan.computations)
    rows = []
    for position, operator in enumerate(sharded.operators):
        strategy = operator.strategies[plan.strategies[position]]
        resharding_ns = sum(
            reading_cost_ns(sharded, source, position, plan.strategies) or 0
            for source in sharded.inputs[position]
        )
        rows.append(
            PlannedOperator(
                operator=operator.name,
                role=str(operator.role),
                operation=operator.operation,
                scope=operator.scope,
                strategy=strategy.name,
                computations=times[position],
                compute_ns=times[position] * (strategy.compute_ns or 0),
                communication_ns=times[position] * strategy.communication_ns,
                resharding_ns=times[position] * resharding_ns,
                memory_bytes=strategy.memory_bytes,
            )
        )
    return tuple(rows)


def plan_table(sharded: ShardedGraph, plan: ShardedSchedule) -> pd.DataFrame:
    """Return the rows as a DataFrame with a column for each attribute of `PlannedOperator`."""
    import pandas as pd

    return pd.DataFrame([asdict(row) for row in planned_operators(sharded, plan)])
