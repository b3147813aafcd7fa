"""Proof that forbidden strategies and pairs leave no choice, whatever the memory."""

from __future__ import annotations

from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Infeasibility, Outcome
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_sharding.exact.presolved import operator_without_strategy


def no_choice(sharded: ShardedGraph) -> Outcome:
    """Return the proof that a graph has no choice of strategies, which must be known already.

    If some operator has no strategy that is allowed with its neighbours, the proof names it and is
    exact; otherwise it rests on HiGHS.
    """
    name = operator_without_strategy(sharded)
    return Outcome(
        termination=Termination.COMPLETED,
        infeasibility=Infeasibility(
            valid_for=ScheduleClass.ALL,
            least_memory_bytes=None,
            is_exact=False,
            evidence=Evidence.SOLVER if name is None else Evidence.EXACT,
            needed_by=name,
        ),
    )
