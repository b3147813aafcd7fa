"""Sharded schedules: strategies and a sequence of computations and deletions; their replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.replay import Replay, Rule, Violation
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)
from jettison.schedules.remat_sharding.elementwise_recomputation import is_elementwise
from jettison.schedules.remat_sharding.reduced_recomputation import is_reduced


@dataclass(frozen=True, slots=True)
class ShardedSchedule:
    """Sharded schedule: a strategy for each operator, and a sequence of operations.

    Attributes
    ----------
    strategies
        For each operator the index of its strategy; it is the same in every computation.
    operations
        As in `GraphSchedule`.

    Raises
    ------
    InputError
        If something is no operation of a graph.
    """

    kind = "sharded-schedule"

    strategies: tuple[int, ...]
    operations: tuple[GraphOperation, ...]

    def __repr__(self) -> str:
        return short_repr(self, "operations", self.operations)

    def __post_init__(self) -> None:
        checked = checked_operations(self.operations, (GraphOperation,))
        object.__setattr__(self, "operations", checked)

    @classmethod
    def from_computations(
        cls, sharded: ShardedGraph, strategies: Sequence[int], computations: Sequence[int]
    ) -> ShardedSchedule:
        """Build the schedule that computes in this order and frees as early as it can.

        See `GraphSchedule.from_computations`; parameters stay.

        Raises
        ------
        InputError
            If the strategies are not allowed together; the operator is named.
        """
        with_strategies(sharded, strategies)
        return cls(tuple(strategies), operations_of(sharded, computations))

    @property
    def computations(self) -> tuple[int, ...]:
        """The operators computed, in order."""
        return GraphSchedule(self.operations).computations

    def replay(self, sharded: ShardedGraph, memory_bytes: int | None = None) -> Replay:
        """Execute the sequence on one device in exact integers and name every broken rule.

        A computation takes its compute and communication time, and the resharding of each of its
        inputs, again each time that it runs. A value takes its strategy's memory. A parameter is in
        memory from its computation to the end; parameters and inputs are computed once.

        Parameters
        ----------
        sharded
            The instance.
        memory_bytes
            The limit of one device; None to measure only.

        Raises
        ------
        InputError
            If the strategies are not allowed together: there is no time to measure then.

        Notes
        -----
        Time linear in the number of operations and inputs.
        """
        graph = with_strategies(sharded, self.strategies)
        found = GraphSchedule(self.operations).replay(graph, memory_bytes)
        violations = tuple(sorted((*found.violations, *self._repeated(sharded)), key=_at))
        schedule_class = found.schedule_class
        if not violations and is_reduced(sharded, self.operations):
            schedule_class = ScheduleClass.KIWI_REDUCED
        elif not violations and is_elementwise(sharded, self.computations):
            schedule_class = ScheduleClass.KIWI_ELEMENTWISE
        elif schedule_class is ScheduleClass.SAVED_OR_ONCE:
            # No bound on sharded graphs is for that class; those that hold for it are for this one.
            schedule_class = ScheduleClass.STAGED
        return replace(found, violations=violations, schedule_class=schedule_class)

    def _repeated(self, sharded: ShardedGraph) -> list[Violation]:
        """Return the violations: parameters and inputs that are computed again."""
        seen: set[int] = set()
        found = []
        for position, operation in enumerate(self.operations):
            if operation.kind is GraphOperationKind.FREE:
                continue
            if not 0 <= operation.node < len(sharded):
                continue
            operator = sharded.operators[operation.node]
            if operation.node in seen and operator.role.is_computed_once:
                found.append(
                    Violation(
                        rule=Rule.COMPUTED_TWICE,
                        position=position,
                        operation=f"{operation.kind} {operator.name}",
                        tensor=operator.name,
                    )
                )
            seen.add(operation.node)
        return found


def operations_of(sharded: ShardedGraph, computations: Sequence[int]) -> tuple[GraphOperation, ...]:
    """Return the computations with deletions as early as possible, whatever the strategies.

    See `GraphSchedule.from_computations`; parameters stay.
    """
    nodes = tuple(
        Node(
            name=operator.name,
            duration_ns=0,
            output_bytes=0,
            inputs=operator.inputs,
            keep=operator.keep or operator.role is Role.PARAMETER,
        )
        for operator in sharded.operators
    )
    return GraphSchedule.from_computations(Graph(sharded.name, nodes), computations).operations


def _at(violation: Violation) -> float:
    return float("inf") if violation.position is None else violation.position
